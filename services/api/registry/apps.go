package registry

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func appsKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*appsv1.DeploymentList]("apps", "v1", "deployments", rules[*appsv1.Deployment]{
			Default:                  defaults.Deployment,
			Validate:                 validation.Deployment,
			ValidateUpdate:           validation.DeploymentUpdate,
			ValidateStatus:           validation.DeploymentStatus,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			GetScale: func(d *appsv1.Deployment) (int32, int32, string) {
				return valueOr(d.Spec.Replicas, 0), d.Status.Replicas, selectorString(d.Spec.Selector)
			},
			SetScale: func(d *appsv1.Deployment, replicas int32) { d.Spec.Replicas = &replicas },
			Columns:  tables.DeploymentColumns,
			Row:      row.Deployment,
		}),
		entry[*appsv1.ReplicaSetList]("apps", "v1", "replicasets", rules[*appsv1.ReplicaSet]{
			Default:                  defaults.ReplicaSet,
			Validate:                 validation.ReplicaSet,
			ValidateUpdate:           validation.ReplicaSetUpdate,
			ValidateStatus:           validation.ReplicaSetStatus,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"status.replicas"},
			Fields: func(rs *appsv1.ReplicaSet) fields.Set {
				return fields.Set{"status.replicas": strconv.Itoa(int(rs.Status.Replicas))}
			},
			GetScale: func(rs *appsv1.ReplicaSet) (int32, int32, string) {
				return valueOr(rs.Spec.Replicas, 0), rs.Status.Replicas, selectorString(rs.Spec.Selector)
			},
			SetScale: func(rs *appsv1.ReplicaSet, replicas int32) { rs.Spec.Replicas = &replicas },
			Columns:  tables.ReplicaSetColumns,
			Row:      row.ReplicaSet,
		}),
		entry[*appsv1.StatefulSetList]("apps", "v1", "statefulsets", rules[*appsv1.StatefulSet]{
			Default:                  defaults.StatefulSet,
			Validate:                 validation.StatefulSet,
			ValidateUpdate:           validation.StatefulSetUpdate,
			ValidateStatus:           validation.StatefulSetStatus,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			NameCheck:                apivalidation.NameIsDNSLabel,
			GetScale: func(s *appsv1.StatefulSet) (int32, int32, string) {
				return valueOr(s.Spec.Replicas, 0), s.Status.Replicas, selectorString(s.Spec.Selector)
			},
			SetScale: func(s *appsv1.StatefulSet, replicas int32) { s.Spec.Replicas = &replicas },
			Columns:  tables.StatefulSetColumns,
			Row:      row.StatefulSet,
		}),
		entry[*appsv1.DaemonSetList]("apps", "v1", "daemonsets", rules[*appsv1.DaemonSet]{
			Default:                  defaults.DaemonSet,
			Validate:                 validation.DaemonSet,
			ValidateUpdate:           validation.DaemonSetUpdate,
			ValidateStatus:           validation.DaemonSetStatus,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.DaemonSetColumns,
			Row:                      row.DaemonSet,
		}),
		entry[*appsv1.ControllerRevisionList]("apps", "v1", "controllerrevisions", rules[*appsv1.ControllerRevision]{
			Validate:                 validation.ControllerRevision,
			ValidateUpdate:           validation.ControllerRevisionUpdate,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.ControllerRevisionColumns,
			Row:                      row.ControllerRevision,
		}),
	}
}
