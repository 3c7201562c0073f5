// Package plugins lists the scheduler's default plugins, one folder each, with the weights of Kubernetes' default profile.
package plugins
