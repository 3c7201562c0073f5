package registry

import (
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func coordinationKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*coordinationv1.LeaseList]("coordination.k8s.io", "v1", "leases", rules[*coordinationv1.Lease]{
			Validate:            validation.Lease,
			AllowCreateOnUpdate: true,
			Columns:             tables.LeaseColumns,
			Row:                 row.Lease,
		}),
	}
}
