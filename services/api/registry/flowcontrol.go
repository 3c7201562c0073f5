package registry

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
)

func flowControlKinds(o Options) []*Kind {
	row := o.rows()
	const group = "flowcontrol.apiserver.k8s.io"
	return []*Kind{
		entry[*flowcontrolv1.FlowSchemaList](group, "v1", "flowschemas", rules[*flowcontrolv1.FlowSchema]{
			Default:       defaults.FlowSchema,
			HasGeneration: true,
			Columns:       tables.FlowSchemaColumns,
			Row:           row.FlowSchema,
		}),
		entry[*flowcontrolv1.PriorityLevelConfigurationList](group, "v1", "prioritylevelconfigurations",
			rules[*flowcontrolv1.PriorityLevelConfiguration]{
				Default: defaults.PriorityLevelConfiguration, HasGeneration: true,
				Columns: tables.PriorityLevelColumns,
				Row:     row.PriorityLevel,
			}),
	}
}
