package controller

import (
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// Handle is a handler that enqueues keys(obj) for every change, and on an update also the keys of the object's former state: a
// pod that leaves a ReplicaSet concerns both the old owner and the new one.
func Handle[T apiclient.Object](c *Controller, keys func(obj T) []string) informer.Handler[T] {
	all := func(obj T, cause informer.Cause) {
		for _, k := range keys(obj) {
			c.Enqueue(k, cause)
		}
	}
	return informer.Handler[T]{
		Add: all,
		Update: func(old, obj T, cause informer.Cause) {
			all(obj, cause)
			// A key named twice is queued once.
			all(old, cause)
		},
		Delete: all,
	}
}

// Self is the keys function of the objects that a controller reconciles.
func Self[T apiclient.Object](obj T) []string { return []string{informer.Key(obj)} }
