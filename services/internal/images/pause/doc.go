// Package pause makes the sandbox image: the one process that keeps a pod's namespaces alive. Its program is about a hundred bytes of machine
// code that this package writes itself, so a node needs neither network nor compiler to have it.
//
// elf.go is the program, image.go the image around it.
package pause
