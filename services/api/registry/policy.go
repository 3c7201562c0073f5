package registry

import policyv1 "k8s.io/api/policy/v1"

func policyKinds(o Options) []*Kind {
	return []*Kind{
		entry[*policyv1.PodDisruptionBudgetList]("policy", "v1", "poddisruptionbudgets", rules[*policyv1.PodDisruptionBudget]{
			HasGeneration: true,
		}),
	}
}
