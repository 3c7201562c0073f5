package defaults

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	resourcev1 "k8s.io/api/resource/v1"
)

// ResourceClaim completes the requests of a claim.
func ResourceClaim(c *resourcev1.ResourceClaim) { deviceClaim(&c.Spec.Devices) }

// ResourceClaimTemplate completes the requests of a template's claim.
func ResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) { deviceClaim(&t.Spec.Spec.Devices) }

func deviceClaim(c *resourcev1.DeviceClaim) {
	for i := range c.Requests {
		if r := c.Requests[i].Exactly; r != nil {
			deviceRequest(&r.AllocationMode, &r.Count, r.Tolerations)
		}
		for j := range c.Requests[i].FirstAvailable {
			r := &c.Requests[i].FirstAvailable[j]
			deviceRequest(&r.AllocationMode, &r.Count, r.Tolerations)
		}
	}
}

// deviceRequest asks for one device unless it says how many.
func deviceRequest(mode *resourcev1.DeviceAllocationMode, count *int64, tolerations []resourcev1.DeviceToleration) {
	set(mode, resourcev1.DeviceAllocationModeExactCount)
	if *mode == resourcev1.DeviceAllocationModeExactCount {
		set(count, 1)
	}
	for i := range tolerations {
		set(&tolerations[i].Operator, resourcev1.DeviceTolerationOpEqual)
	}
}

// PodCertificateRequest completes a request: the certificate lasts for a day.
func PodCertificateRequest(r *certificatesv1.PodCertificateRequest) {
	setPointer(&r.Spec.MaxExpirationSeconds, 86400)
}
