// Package images sees to it that a container's image is there before the container is made.
//
// One idea: pulling never blocks the pod's worker. Ensure answers at once with the image, with the reason why there is none yet, or that it is
// being fetched; in that case the worker is woken when the fetch has ended. One image is pulled once at a time, and a pull that failed is
// tried again after 10 s, twice as long after each further failure, 5 minutes at most.
//
// manager.go has Manager, name.go image names, credentials.go pull secrets.
package images
