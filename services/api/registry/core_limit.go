package registry

import corev1 "k8s.io/api/core/v1"

func limitKinds(o Options) []*Kind {
	return []*Kind{
		entry[*corev1.LimitRangeList]("", "v1", "limitranges", rules[*corev1.LimitRange]{
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
		}),
		entry[*corev1.ResourceQuotaList]("", "v1", "resourcequotas", rules[*corev1.ResourceQuota]{
			AllowUnconditionalUpdate: true,
		}),
	}
}
