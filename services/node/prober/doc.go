// Package prober asks containers whether they have started, are ready and still live, and runs their lifecycle hooks.
//
// One idea: each probe of each running container is a goroutine that keeps a verdict; whoever needs it reads it (Started, Ready, Failed), and the pod's
// worker is woken when it changes. Liveness and readiness begin when the startup probe has succeeded.
//
// manager.go starts and ends the goroutines, worker.go is one of them, check.go does a single exec, HTTP, TCP or gRPC check, hook.go runs hooks.
package prober
