package registry

import (
	policyv1 "k8s.io/api/policy/v1"

	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func policyKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*policyv1.PodDisruptionBudgetList]("policy", "v1", "poddisruptionbudgets", rules[*policyv1.PodDisruptionBudget]{
			Validate:       validation.DisruptionBudget,
			ValidateStatus: validation.DisruptionBudgetStatus,
			HasGeneration:  true,
			Columns:        tables.DisruptionBudgetColumns,
			Row:            row.DisruptionBudget,
		}),
	}
}
