package defaults

import (
	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
)

func container(c *corev1.Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicy(c.Image)
	}
	set(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	set(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		set(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from == nil {
			continue
		}
		fieldRef(from.FieldRef)
		if from.FileKeyRef != nil {
			setPointer(&from.FileKeyRef.Optional, false)
		}
	}
	roundUp(c.Resources.Limits)
	roundUp(c.Resources.Requests)
	probe(c.LivenessProbe)
	probe(c.ReadinessProbe)
	probe(c.StartupProbe)
	if c.Lifecycle != nil {
		if h := c.Lifecycle.PostStart; h != nil {
			httpGet(h.HTTPGet)
		}
		if h := c.Lifecycle.PreStop; h != nil {
			httpGet(h.HTTPGet)
		}
	}
}

// pullPolicy is Always for an image that may change under its name: one without a tag or digest, or tagged latest.
func pullPolicy(image string) corev1.PullPolicy {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return corev1.PullIfNotPresent
	}
	if tagged, ok := named.(reference.Tagged); ok {
		if tagged.Tag() == "latest" {
			return corev1.PullAlways
		}
		return corev1.PullIfNotPresent
	}
	if _, ok := named.(reference.Digested); ok {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}

func fieldRef(f *corev1.ObjectFieldSelector) {
	if f != nil {
		set(&f.APIVersion, "v1")
	}
}

func probe(p *corev1.Probe) {
	if p == nil {
		return
	}
	set(&p.TimeoutSeconds, 1)
	set(&p.PeriodSeconds, 10)
	set(&p.SuccessThreshold, 1)
	set(&p.FailureThreshold, 3)
	httpGet(p.HTTPGet)
	if p.GRPC != nil {
		setPointer(&p.GRPC.Service, "")
	}
}

func httpGet(h *corev1.HTTPGetAction) {
	if h == nil {
		return
	}
	set(&h.Path, "/")
	set(&h.Scheme, corev1.URISchemeHTTP)
}
