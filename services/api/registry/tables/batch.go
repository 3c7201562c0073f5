package tables

import (
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// JobColumns are the columns of jobs.
var JobColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Status", "string", "State of the job."),
	column("Completions", "string", "How many pods succeeded, of how many that should."),
	column("Duration", "string", "Time that the job took, or has taken so far."),
	ageColumn, containerColumn, imageColumn, selectorColumn,
}

// Job is the row of a job.
func (r Rows) Job(j *batchv1.Job) []any {
	names, images := containerCells(j.Spec.Template.Spec.Containers)
	return []any{j.Name, jobStatus(j), completions(j), r.jobDuration(j), r.age(j), names, images, selectorCell(j.Spec.Selector)}
}

func jobStatus(j *batchv1.Job) string {
	has := func(kind batchv1.JobConditionType) bool {
		for _, c := range j.Status.Conditions {
			if c.Type == kind {
				return c.Status == corev1.ConditionTrue
			}
		}
		return false
	}
	switch {
	case has(batchv1.JobComplete):
		return "Complete"
	case has(batchv1.JobFailed):
		return "Failed"
	case j.DeletionTimestamp != nil:
		return "Terminating"
	case has(batchv1.JobSuspended):
		return "Suspended"
	case has(batchv1.JobFailureTarget):
		return "FailureTarget"
	default:
		return "Running"
	}
}

func completions(j *batchv1.Job) string {
	if j.Spec.Completions != nil {
		return fmt.Sprintf("%d/%d", j.Status.Succeeded, *j.Spec.Completions)
	}
	if p := pointerOr(j.Spec.Parallelism, 0); p > 1 {
		return fmt.Sprintf("%d/1 of %d", j.Status.Succeeded, p)
	}
	return fmt.Sprintf("%d/1", j.Status.Succeeded)
}

func (r Rows) jobDuration(j *batchv1.Job) string {
	switch {
	case j.Status.StartTime == nil:
		return ""
	case j.Status.CompletionTime == nil:
		return duration.HumanDuration(r.clock.Since(j.Status.StartTime.Time))
	default:
		return duration.HumanDuration(j.Status.CompletionTime.Sub(j.Status.StartTime.Time))
	}
}

// CronJobColumns are the columns of cron jobs.
var CronJobColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Schedule", "string", "When jobs are started, in cron's notation."),
	column("Timezone", "string", "Time zone of the schedule."),
	column("Suspend", "boolean", "Whether no further jobs are started."),
	column("Active", "integer", "How many jobs are running."),
	column("Last Schedule", "string", "Time since a job was last started."),
	ageColumn, containerColumn, imageColumn, selectorColumn,
}

// CronJob is the row of a cron job.
func (r Rows) CronJob(c *batchv1.CronJob) []any {
	names, images := containerCells(c.Spec.JobTemplate.Spec.Template.Spec.Containers)
	last := none
	if c.Status.LastScheduleTime != nil {
		last = r.since(c.Status.LastScheduleTime.Time)
	}
	suspend := unset
	if c.Spec.Suspend != nil {
		suspend = map[bool]string{true: "True", false: "False"}[*c.Spec.Suspend]
	}
	return []any{
		c.Name, c.Spec.Schedule, pointerOr(c.Spec.TimeZone, none), suspend, int64(len(c.Status.Active)), last, r.age(c),
		names, images, selectorCell(c.Spec.JobTemplate.Spec.Selector),
	}
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
