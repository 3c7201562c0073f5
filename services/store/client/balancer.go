package client

import (
	"sync/atomic"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
)

// balancerName is the policy of the store's connections: calls go round the members that serve, unless they name one.
const balancerName = "orrery_store_members"

// memberKey is the context key of the endpoint that a call must go to.
type memberKey struct{}

func init() {
	balancer.Register(base.NewBalancerBuilder(balancerName, pickerBuilder{}, base.Config{HealthCheck: true}))
}

type pickerBuilder struct{}

// Build implements base.PickerBuilder.
func (pickerBuilder) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p := &picker{by: make(map[string]balancer.SubConn, len(info.ReadySCs))}
	for sc, i := range info.ReadySCs {
		p.by[i.Address.Addr] = sc
		p.all = append(p.all, sc)
	}
	return p
}

// picker chooses among the members that were ready when it was made.
type picker struct {
	by   map[string]balancer.SubConn
	all  []balancer.SubConn
	next atomic.Uint32
}

// Pick implements balancer.Picker.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	if member, ok := info.Ctx.Value(memberKey{}).(string); ok {
		sc := p.by[member]
		if sc == nil {
			return balancer.PickResult{}, balancer.ErrNoSubConnAvailable // the call waits until it is ready
		}
		return balancer.PickResult{SubConn: sc}, nil
	}
	return balancer.PickResult{SubConn: p.all[int(p.next.Add(1))%len(p.all)]}, nil
}
