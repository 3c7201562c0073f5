package registry

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func nodeKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.NodeList]("", "v1", "nodes", rules[*corev1.Node]{
			Default:                  defaults.Node,
			Validate:                 validation.Node,
			ValidateUpdate:           validation.NodeUpdate,
			ValidateStatus:           validation.NodeStatus,
			AllowUnconditionalUpdate: true,
			StatusOnCreate:           true,
			FieldNames:               []string{"spec.unschedulable"},
			Fields: func(node *corev1.Node) fields.Set {
				return fields.Set{"spec.unschedulable": strconv.FormatBool(node.Spec.Unschedulable)}
			},
			Columns: tables.NodeColumns,
			Row:     row.Node,
		}),
	}
}
