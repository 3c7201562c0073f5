// Command orrery is the whole of Orrery in one binary: a subcommand for each service, up to run them all, and the tools of its operator.
//
// One idea: a service is an entry of the table in service.go, flags that fill an options struct, which builds it. `orrery api ...` parses those
// flags from the command line; `orrery up` writes the same flags itself, and either runs the services in this process or
// starts a process for each.
//
// main.go dispatches, service.go has the table, <service>.go each service's flags, up.go and plan.go the cluster in one command; get.go, pki.go and
// kubectl.go are the tools; members*.go and snapshot.go those of the store's operator, over services/store/operator and backup (docs/OPERATIONS.md is their
// runbook). The tests start the program itself: a fleet (fleet_test.go) is a store of several processes.
package main
