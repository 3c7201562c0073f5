// Package etcdtest shows that clients of etcd work on the store: etcd's own client library with what is built on it, the
// store's conformance suite through that library, and etcdctl as the distribution ships it, as a process of its own. It
// is a module of its own so that the store depends on none of them.
//
// harness_test.go runs members with TLS; adapter_test.go is kv.KV over the client library. Then one file a subject;
// run.sh runs them all.
package etcdtest
