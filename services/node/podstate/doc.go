// Package podstate is what the container runtime knows about pods, in the agent's terms.
//
// One idea: the runtime is the truth and is asked anew before every decision; nothing is remembered but the details of containers whose
// state has not changed. So an agent that restarts finds its pods as they are.
//
// state.go has the types, reader.go asks the runtime about one pod, watcher.go notices changes: by the runtime's events where it has them, else by
// looking often while something is going on and seldom when nothing is.
package podstate
