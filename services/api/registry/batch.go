package registry

import (
	"context"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func batchKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*batchv1.JobList]("batch", "v1", "jobs", rules[*batchv1.Job]{
			Default:                  defaults.Job,
			Validate:                 validation.Job,
			ValidateUpdate:           validation.JobUpdate,
			ValidateStatus:           validation.JobStatus,
			PrepareCreate:            func(_ context.Context, j *batchv1.Job) { selectOwnPods(j) },
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			DefaultPropagation:       metav1.DeletePropagationOrphan,
			FieldNames:               []string{"status.successful"},
			Fields: func(j *batchv1.Job) fields.Set {
				return fields.Set{"status.successful": strconv.Itoa(int(j.Status.Succeeded))}
			},
			Columns: tables.JobColumns,
			Row:     row.Job,
		}),
		entry[*batchv1.CronJobList]("batch", "v1", "cronjobs", rules[*batchv1.CronJob]{
			Default:                  defaults.CronJob,
			Validate:                 validation.CronJob,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.CronJobColumns,
			Row:                      row.CronJob,
		}),
	}
}

// selectOwnPods makes the job's selector of its uid, unless its author chose one: so no two jobs count the same pods.
func selectOwnPods(j *batchv1.Job) {
	if valueOr(j.Spec.ManualSelector, false) {
		return
	}
	if j.Spec.Template.Labels == nil {
		j.Spec.Template.Labels = make(map[string]string, 4)
	}
	labels := j.Spec.Template.Labels
	for label, value := range map[string]string{
		batchv1.ControllerUidLabel: string(j.UID), "controller-uid": string(j.UID),
		batchv1.JobNameLabel: j.Name, "job-name": j.Name,
	} {
		labels[label] = value
	}
	if j.Spec.Selector == nil {
		j.Spec.Selector = &metav1.LabelSelector{}
	}
	if j.Spec.Selector.MatchLabels == nil {
		j.Spec.Selector.MatchLabels = make(map[string]string, 1)
	}
	j.Spec.Selector.MatchLabels[batchv1.ControllerUidLabel] = string(j.UID)
}
