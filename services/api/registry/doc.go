// Package registry says what each kind is: one file per API group (and per family of core kinds), one entry per kind, with its defaults, its
// validation in Kubernetes' own words, its table columns and its special rules. What is the same for every kind is not here but in package
// endpoint.
//
// One idea: a Kind is data. Its functions come from sub-packages that each do one thing for all kinds: defaults fills in, validation refuses,
// tables shows, convert turns views into what is stored, allocation hands out what services share. What a kind does to itself when it is created or
// changed stands beside its entry: pod_create.go, service_shape.go, batch.go.
//
// kind.go has the shape of an entry and is where to begin; registry.go makes entries from typed functions; core_pod.go is a full
// one. To add a kind, add its entry to its group's file: a test compares All with the table of kinds.
package registry
