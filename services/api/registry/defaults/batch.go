package defaults

import (
	"maps"
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Job completes a job. A job that says neither how many pods must succeed nor how many may run at once means one.
func Job(j *batchv1.Job) {
	spec := &j.Spec
	if spec.Completions == nil && spec.Parallelism == nil {
		setPointer(&spec.Completions, 1)
	}
	setPointer(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex != nil {
		setPointer(&spec.BackoffLimit, math.MaxInt32)
	} else {
		setPointer(&spec.BackoffLimit, 6)
	}
	if len(j.Labels) == 0 && len(spec.Template.Labels) > 0 {
		j.Labels = maps.Clone(spec.Template.Labels)
	}
	setPointer(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	setPointer(&spec.Suspend, false)
	if spec.PodFailurePolicy != nil {
		setPointer(&spec.PodReplacementPolicy, batchv1.Failed)
	} else {
		setPointer(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	}
	jobSpec(spec)
}

// CronJob completes a cron job; its job template is completed when a job is made of it.
func CronJob(c *batchv1.CronJob) {
	set(&c.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	setPointer(&c.Spec.Suspend, false)
	setPointer(&c.Spec.SuccessfulJobsHistoryLimit, 3)
	setPointer(&c.Spec.FailedJobsHistoryLimit, 1)
	jobSpec(&c.Spec.JobTemplate.Spec)
}

// jobSpec completes what jobs and job templates have in common.
func jobSpec(spec *batchv1.JobSpec) {
	podSpec(&spec.Template.Spec)
	if spec.PodFailurePolicy == nil {
		return
	}
	for i := range spec.PodFailurePolicy.Rules {
		conditions := spec.PodFailurePolicy.Rules[i].OnPodConditions
		for j := range conditions {
			set(&conditions[j].Status, corev1.ConditionTrue)
		}
	}
}
