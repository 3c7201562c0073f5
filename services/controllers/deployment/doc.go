// Package deployment rolls Deployments out over ReplicaSets.
//
// One idea: a template is a ReplicaSet. The ReplicaSet whose template equals the Deployment's is the new one, all others are old, and a rollout is
// a series of small steps that move replicas from the old to the new within a budget: never more than replicas + maxSurge pods in all,
// never fewer than replicas - maxUnavailable available ones. Each reconcile takes one step from what the ReplicaSets show; going back to
// an earlier template finds its ReplicaSet again and is a rollout like any other.
//
// deployment.go has the loop, rolling.go and recreate.go the two strategies, scale.go a change of the size, revision.go the new ReplicaSet and the
// history, progress.go the conditions of a rollout, status.go the counts, budget.go the arithmetic.
package deployment
