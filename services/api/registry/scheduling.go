package registry

import schedulingv1 "k8s.io/api/scheduling/v1"

func schedulingKinds(o Options) []*Kind {
	return []*Kind{
		entry[*schedulingv1.PriorityClassList]("scheduling.k8s.io", "v1", "priorityclasses", rules[*schedulingv1.PriorityClass]{
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
		}),
	}
}
