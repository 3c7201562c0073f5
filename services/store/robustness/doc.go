// Command robustness breaks a store in every way that it knows, one at a time, while clients work on it as the components
// of a Kubernetes cluster do, and checks the whole history of what they were told.
//
// Its one idea: a cluster's only state is worth no more than the worst thing that its store has lived through. So the members are
// real processes (package cluster), each in a network namespace with a disk that can go wrong (package faultfs), in a
// sandbox that leaves nothing behind (package sandbox); the traffic is recorded in full (packages traffic and history); and
// after each fault the record is judged without mercy (package check).
//
// A run is a sequence of rounds. A round begins with keys of its own and open watches, lets the traffic run, does one thing
// (package fault), waits until every member takes writes again, ends the traffic, and judges. Round N of a seed
// always does the same thing at the same moment, as far as the machine allows.
//
// main.go has the flags, campaign.go the sequence of rounds, round.go one of them; package report writes docs/ROBUSTNESS.md.
// Packages crash and faultfs are about disks alone: a process killed at every one of its writes.
//
//	make test-robustness                                   # the short form: one of each cheap fault
//	make test-robustness ROBUSTFLAGS="--faults 300 --members 3:260,1:20,5:20 --report docs/ROBUSTNESS.md"
//	make test-robustness ROBUSTFLAGS="--only pause-leader --faults 20 --seed 7"
package main
