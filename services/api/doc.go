// Package api is the api service: the front door of the cluster and the only client of its store.
//
// One idea: a request goes one way, whatever door it came in by: who is it (authn), may they (authz), what does it become (admission,
// defaults, validation in registry), write it if nobody wrote first (storage). Everything that only looks (get, list, watch) is served
// from memory, fed by one watch on the store (watchcache).
//
//	typed services   ResourceService   RestService        server: three fronts, one path
//	        \              |              /               negotiate: bodies in and out
//	         authn > authz > endpoint (verbs)              registry: what each kind is
//	                       |        \
//	                    storage    watchcache (Hub)
//	                       |        /
//	                     the store (kv.KV)
//
// The service holds no state of its own: run as many as needed. config.go says what it takes, service.go how it is put together, starts
// and stops. Open endpoint next for the verbs, or server for the fronts.
package api
