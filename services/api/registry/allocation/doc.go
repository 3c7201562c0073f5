// Package allocation hands out what services share: addresses in the cluster and ports of its nodes.
//
// One idea: what is taken is a key in the store, made only where there was none, so that any number of api instances can hand out
// from one range without talking to each other. The key of an address is that of its IPAddress object, which shows who has it. A key
// is written before its service and deleted after it; one that is left over when an api dies in between is taken over by the
// next who happens on it.
//
// services.go decides what a service needs; ledger.go takes and frees keys; ranges.go chooses among what is free.
package allocation
