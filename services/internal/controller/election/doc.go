// Package election lets one of several processes act, over a coordination.k8s.io/v1 Lease.
//
// One idea: the holder renews the Lease; whoever finds it unchanged for its whole duration, by his own clock, takes it with an update that
// a rival's update would make fail. Clocks of different machines are never compared. A holder that cannot renew in time stops
// acting before its Lease runs out; one that stops in order clears the Lease, so that a successor starts at once, and one
// that was killed and comes back under the same identity simply goes on.
//
// election.go has all of it.
package election
