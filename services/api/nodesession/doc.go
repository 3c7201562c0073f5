// Package nodesession reaches the nodes: logs, exec, attach and port-forward.
//
// One idea: the api never dials a node. Each node agent keeps a session open; when a client wants a conversation with a container, the api
// says so over the session and the agent calls back (Serve). The two calls, the client's and the agent's, are then joined, and frames
// pass through unread, no faster than the slower side takes them.
//
//	client --Connect-->  api  <--Session-- agent        "open stream 7: exec in pod web"
//	client <--frames-->  api  <--Serve 7-- agent        frames both ways until End
//
// sessions.go keeps the sessions and matches streams; conversation.go is a joined pair; connect.go serves clients, logs.go the logs of
// RestService; pods.go finds the pod, its node and the container; options.go reads what the query asks for.
package nodesession
