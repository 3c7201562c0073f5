package registry

import (
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/api/registry/tables"
)

// Options are what entries need from the server around them. The zero value is of use: what is not given is done without.
type Options struct {
	// Clock tells the ages that tables show; nil is the system's clock.
	Clock clock.PassiveClock
}

func (o Options) rows() tables.Rows {
	if o.Clock == nil {
		return tables.New(clock.RealClock{})
	}
	return tables.New(o.Clock)
}
