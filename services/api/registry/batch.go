package registry

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
)

func batchKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*batchv1.JobList]("batch", "v1", "jobs", rules[*batchv1.Job]{
			Default:                  defaults.Job,
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
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.CronJobColumns,
			Row:                      row.CronJob,
		}),
	}
}
