// Package images builds OCI images from the distribution's packages, without a container engine and without installing anything, and
// serves them as a registry. Tests and the labs pull them as if from docker.io, so that a pull is a real pull.
//
// One idea: an image is a tree of files with fixed owners and times, so the same packages give the same digests. Packages are
// downloaded with apt-get and unpacked with dpkg-deb into a folder; of the libraries in them an image takes only those that its
// program's ELF headers ask for.
//
// tree.go makes layers, debian.go gets packages, elf.go resolves libraries; catalog.go lists the images, busybox.go, nginx.go and orrery.go say what
// is in each; layout.go stores them as one OCI layout and registry.go serves it. Package pause has the sandbox image, which needs no packages.
package images
