// Package pki is the cluster's certificate authority: it issues every component's certificate and turns the files into TLS
// configurations and a kubeconfig.
//
// The one idea: a folder is the whole state. Ensure compares what the folder holds with what the cluster needs, and
// issues the difference: a missing key pair, one that soon expires, one whose names no longer cover the addresses asked for. It
// is idempotent and safe to call from several processes at once (a file lock; files appear whole, by rename), so every
// component may call it at its start and nobody has to be first.
//
//	<data-dir>/pki/ca.crt ca.key             the authority
//	<data-dir>/pki/gateway.crt gateway.key   one pair a component, see identity.go
//
// Open identity.go first: who exists, with Kubernetes' own names, so that Kubernetes' RBAC rules fit them. Then ensure.go (what is
// issued when), issue.go (crypto/x509), tls.go (configurations that follow a renewal without a restart) and
// kubeconfig.go.
package pki
