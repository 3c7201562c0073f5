// Package fault holds what a run does to a cluster: one thing at a time, and then it makes it good again.
//
// Its one idea is that a fault is a function with a name: it breaks something, lets the traffic meet it for a while, heals
// it, and returns. Judging is not its business.
//
// fault.go has the type and the table, process.go kills and pauses, partition.go cuts the network, disk.go spoils disks,
// clock.go moves the clock, operate.go does what operators do, under load.
package fault
