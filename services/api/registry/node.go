package registry

import (
	nodev1 "k8s.io/api/node/v1"

	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func nodeAPIKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*nodev1.RuntimeClassList]("node.k8s.io", "v1", "runtimeclasses", rules[*nodev1.RuntimeClass]{
			Validate:       validation.RuntimeClass,
			ValidateUpdate: validation.RuntimeClassUpdate,
			Columns:        tables.RuntimeClassColumns,
			Row:            row.RuntimeClass,
		}),
	}
}
