// Package framework is the contract between the scheduler and its plugins: Kubernetes' scheduling framework (KEP-624) with every
// extension point.
//
// One idea: a decision is a pure function. Plugins see a pod and an immutable snapshot and answer with a Status; only Reserve, PreBind and Bind
// may touch the world. Feasibility code exists once: who wants to know whether a pod would fit asks RunFilters.
//
// status.go has the answers, plugin.go the extension points in the order in which they run, framework.go runs the plugins and records
// each verdict on the trace.
package framework
