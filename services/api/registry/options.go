package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/api/registry/tables"
)

// Options are what entries need from the server around them. The zero value is of use: what is not given is done without.
type Options struct {
	// Clock tells the ages that tables show; nil is the system's clock.
	Clock clock.PassiveClock
	// Services hands out addresses and node ports; without it services have those that they name. It is an
	// *allocation.Services.
	Services ServiceClaims
}

// ServiceClaims reserves what services have of the cluster: see Kind.Claim and Kind.Release.
type ServiceClaims interface {
	Claim(ctx context.Context, svc, old *corev1.Service) (undo func(), err error)
	Release(ctx context.Context, old, svc *corev1.Service)
}

func (o Options) rows() tables.Rows {
	if o.Clock == nil {
		return tables.New(clock.RealClock{})
	}
	return tables.New(o.Clock)
}
