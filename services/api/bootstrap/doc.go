// Package bootstrap makes the objects that a cluster has before anybody creates one: its namespaces, the RBAC policy for its own
// components and for people, the system priority classes and the Service "kubernetes".
//
// One idea: they are created where they are missing and left alone where they are not, so an operator's changes outlive restarts and
// several instances of the api may do it at once.
//
// run.go creates; objects.go lists namespaces, priority classes and the Service; roles.go has the roles of people, components.go those of
// components.
package bootstrap
