// Package session keeps the agent's sessions with the api open and serves what is asked over them: logs, exec, attach and port-forward.
//
// One idea: the api never dials a node. The agent holds one session with every instance of the api; when a stream is asked for there, the agent calls
// back over the same connection (Serve) and the frames flow. A stream that cannot be served is refused with the reason.
//
// session.go keeps sessions, serve.go frames, logs.go, command.go (exec and attach) and forward.go do the work.
package session
