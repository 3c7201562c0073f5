// Package gateway is the front door for Kubernetes clients: HTTP comes in, gRPC goes out, and nothing else happens here. It knows no
// kinds, holds no objects and decides nothing; any number of gateways may run side by side.
//
// The one idea: the api answers with finished bodies. grpc-gateway's mux turns a request into a call of RestService and the
// answer's bytes into the response, so the gateway never looks into an object. What is left for it is HTTP itself: who the
// client is (identity.go), limits and deadlines (request.go), errors as Kubernetes Statuses (status.go), compression (response.go).
// Lists, watches and logs travel on the streaming route, one piece at a time, and are never held whole.
//
// exec, attach and port-forward take over the client's connection and become a conversation with ConnectService
// (connect.go): remotecommand.go and portforward.go bridge frames, spdy_*.go and websocket_*.go speak the two protocols.
//
// Open handler.go first: a request's way through the package from top to bottom. service.go starts and drains it, pool.go holds
// the connections to the api.
package gateway
