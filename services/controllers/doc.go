// Package controllers is the service that runs all reconcile loops of the control plane.
//
// One idea: each controller is a loop of its own that knows the api and nobody else. They share a process, a connection and the caches, one
// watch per resource type, and nothing more; each would work the same alone in a process. With several processes, one leads and runs
// them, the others wait.
//
// service.go connects, elects and runs; table.go lists the controllers and what each is given; caches.go has the shared informers. Each folder
// is one controller, and says at the top of its main file what it watches and what it writes; folder owner has what those that own
// pods have in common.
package controllers
