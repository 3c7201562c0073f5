// Package podconfig turns a pod's specification into what a container runtime is told: the configuration of its sandbox and of each container.
//
// One idea: everything here is a function of the pod, the node and the objects that the pod refers to; it changes nothing but files in the pod's
// own folder.
//
// host.go is what the node contributes, sandbox.go and container.go the two configurations; env.go with expand.go and fields.go the
// environment, resources.go limits, security.go users and capabilities, dns.go names.
package podconfig
