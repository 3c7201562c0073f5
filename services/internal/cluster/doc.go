// Package cluster starts the real services in the process of a test, each on a loopback port of its own, with mutual TLS and the store on disk.
//
// One idea: what a test talks to is what runs in production. Start builds every service with its own New, the way `orrery up` does, with simulated containers in
// place of real ones. A service can be ended and started again on the same port and data (Kill, Start, Restart), one at a time, while the others go on.
// What a test waits for it waits for on a watch (Await, Observe); the goroutines of a stopped cluster must all have ended.
//
// cluster.go has Options, Start and Stop; services.go how each service is built and restarted; clients.go who can call and how; await.go the waiting;
// logs.go keeps the services' logs, which a failed test prints. The tests beside them are those of the whole system: trace_test.go (one trace from apply to container),
// rollout_test.go (every service killed under a rolling update), durability_test.go, badinput_test.go, kubectl_test.go. clients/ holds the tests of other
// people's clients, in modules of their own.
package cluster
