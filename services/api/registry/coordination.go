package registry

import coordinationv1 "k8s.io/api/coordination/v1"

func coordinationKinds(o Options) []*Kind {
	return []*Kind{
		entry[*coordinationv1.LeaseList]("coordination.k8s.io", "v1", "leases", rules[*coordinationv1.Lease]{
			AllowCreateOnUpdate: true,
		}),
	}
}
