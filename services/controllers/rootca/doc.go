// Package rootca publishes the cluster's certificate authority in every namespace, as ConfigMap kube-root-ca.crt, so that pods can verify the
// api they speak to.
//
// rootca.go has all of it.
package rootca
