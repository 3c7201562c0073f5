// Package queue holds the pods that wait to be scheduled.
//
// One idea: a pod that was rejected sleeps until something happens that may change the verdict. Three places hold pods: active
// (ready, in the order of QueueSort), backoff (ready once its time has come: 1 s doubling to 10 s by attempt) and unschedulable (asleep until an event that
// one of the plugins that rejected the pod waits for, or five minutes). Gated pods sleep until their gates are gone. An event that
// arrives while a pod is being tried sends the pod to backoff instead of to sleep, so none is missed.
package queue
