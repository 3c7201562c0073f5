package allocation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Config says what there is to hand out.
type Config struct {
	// KV is the store.
	KV kv.KV
	// Addresses is the range of cluster addresses, IPv4; the zero Prefix is 10.96.0.0/16.
	Addresses netip.Prefix
	// FirstPort and LastPort are the range of node ports; 0 and 0 are 30000 and 32767.
	FirstPort, LastPort int32
	// Clock tells how old claims are; nil is the system's.
	Clock clock.PassiveClock
	// Log gets what could not be freed; nil is slog's default.
	Log *slog.Logger
}

// Services hands out to services. It is safe for concurrent use.
type Services struct {
	kv        kv.KV
	clock     clock.PassiveClock
	log       *slog.Logger
	prefix    netip.Prefix
	addresses pool
	ports     pool
}

// New checks the ranges.
func New(c Config) (*Services, error) {
	if !c.Addresses.IsValid() {
		c.Addresses = netip.MustParsePrefix("10.96.0.0/16")
	}
	if !c.Addresses.Addr().Is4() || c.Addresses.Bits() > 29 || c.Addresses.Bits() < 8 {
		return nil, fmt.Errorf("the range of service addresses is %s: it must be an IPv4 range between /8 and /29", c.Addresses)
	}
	if c.FirstPort == 0 && c.LastPort == 0 {
		c.FirstPort, c.LastPort = 30000, 32767
	}
	if c.FirstPort < 1 || c.LastPort > 65535 || c.FirstPort > c.LastPort {
		return nil, fmt.Errorf("the range of node ports is %d-%d: it must lie within 1-65535", c.FirstPort, c.LastPort)
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Services{
		kv: c.KV, clock: c.Clock, log: c.Log, prefix: c.Addresses.Masked(),
		addresses: addresses(c.Addresses), ports: ports(c.FirstPort, c.LastPort),
	}, nil
}

// guesses is how often a random number is tried before what is taken is read.
const guesses = 8

// freeing is how long a claim that is not needed is given to go away; what remains is taken over later.
const freeing = 5 * time.Second

// Claim reserves what svc has and old (nil on create) has not, and chooses what svc needs and does not name. See
// registry.Kind.Claim.
func (s *Services) Claim(ctx context.Context, svc, old *corev1.Service) (undo func(), err error) {
	var keys []string
	undo = func() { s.freeAll(ctx, keys) }
	claimed := func(key string) { keys = append(keys, key) }
	if err = s.claimAddress(ctx, svc, old, claimed); err == nil {
		err = s.claimPorts(ctx, svc, old, claimed)
	}
	if err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// Release frees what old had and svc (nil when deleted) has not. See registry.Kind.Release.
func (s *Services) Release(ctx context.Context, old, svc *corev1.Service) {
	var keys []string
	for _, ip := range addressesOf(old) {
		if svc == nil || !slices.Contains(addressesOf(svc), ip) {
			keys = append(keys, addressPrefix+ip)
		}
	}
	for _, port := range portsOf(old) {
		if svc == nil || !slices.Contains(portsOf(svc), port) {
			keys = append(keys, portPrefix+strconv.Itoa(int(port)))
		}
	}
	s.freeAll(ctx, keys)
}

// freeAll goes on when the request that it is part of ends.
func (s *Services) freeAll(ctx context.Context, keys []string) {
	if len(keys) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freeing)
	defer cancel()
	for _, key := range keys {
		if err := s.free(ctx, key); err != nil {
			s.log.Warn("a service's claim could not be freed and will be taken over later", "key", key, "error", err)
		}
	}
}

// addressesOf are the cluster addresses that a service has.
func addressesOf(svc *corev1.Service) []string {
	if svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var list []string
	for _, ip := range append([]string{svc.Spec.ClusterIP}, svc.Spec.ClusterIPs...) {
		if ip != "" && ip != corev1.ClusterIPNone && !slices.Contains(list, ip) {
			list = append(list, ip)
		}
	}
	return list
}

// portsOf are the node ports that a service has, each once: two protocols may share one.
func portsOf(svc *corev1.Service) []int32 {
	var list []int32
	for _, p := range svc.Spec.Ports {
		if p.NodePort != 0 && !slices.Contains(list, p.NodePort) {
			list = append(list, p.NodePort)
		}
	}
	if p := svc.Spec.HealthCheckNodePort; p != 0 && !slices.Contains(list, p) {
		list = append(list, p)
	}
	return list
}

func (s *Services) claimAddress(ctx context.Context, svc, old *corev1.Service, claimed func(string)) error {
	if svc.Spec.Type == corev1.ServiceTypeExternalName || svc.Spec.ClusterIP == corev1.ClusterIPNone {
		return nil
	}
	var had []string
	if old != nil {
		had = addressesOf(old)
	}
	for _, ip := range addressesOf(svc) {
		if slices.Contains(had, ip) {
			continue
		}
		parsed, err := netip.ParseAddr(ip)
		if err != nil || !parsed.Is4() || !s.addresses.contains(number(parsed)) {
			return invalid(svc, field.NewPath("spec", "clusterIPs"), svc.Spec.ClusterIPs,
				fmt.Sprintf("failed to allocate IP %v: the provided IP (%v) is not in the valid range. The range of valid IPs is %s", ip, ip, s.prefix))
		}
		switch err := s.takeAddress(ctx, ip, svc); {
		case errors.Is(err, errTaken):
			return invalid(svc, field.NewPath("spec", "clusterIPs"), svc.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %v: provided IP is already allocated", ip))
		case err != nil:
			return err
		}
		claimed(addressPrefix + ip)
	}
	if svc.Spec.ClusterIP != "" {
		return nil
	}
	n, err := s.choose(ctx, s.addresses, addressPrefix, func(n uint32) string { return address(n).String() },
		func(name string) error { return s.takeAddress(ctx, name, svc) })
	if err != nil {
		return failed(err, "a serviceIP")
	}
	svc.Spec.ClusterIP = address(n).String()
	svc.Spec.ClusterIPs = []string{svc.Spec.ClusterIP}
	claimed(addressPrefix + svc.Spec.ClusterIP)
	return nil
}

func (s *Services) claimPorts(ctx context.Context, svc, old *corev1.Service, claimed func(string)) error {
	var had []int32
	if old != nil {
		had = portsOf(old)
	}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.NodePort == 0 || slices.Contains(had, p.NodePort) {
			continue
		}
		if err := s.claimPort(ctx, p.NodePort, svc, field.NewPath("spec", "ports").Index(i).Child("nodePort")); err != nil {
			return err
		}
		had = append(had, p.NodePort)
		claimed(portPrefix + strconv.Itoa(int(p.NodePort)))
	}
	if h := svc.Spec.HealthCheckNodePort; h != 0 && !slices.Contains(had, h) {
		if err := s.claimPort(ctx, h, svc, field.NewPath("spec", "healthCheckNodePort")); err != nil {
			return err
		}
		claimed(portPrefix + strconv.Itoa(int(h)))
	}
	return s.choosePorts(ctx, svc, claimed)
}

func (s *Services) claimPort(ctx context.Context, port int32, svc *corev1.Service, p *field.Path) error {
	if !s.ports.contains(uint32(port)) {
		return invalid(svc, p, port, fmt.Sprintf("provided port is not in the valid range. The range of valid ports is %d-%d", s.ports.first, s.ports.last))
	}
	err := s.takePort(ctx, strconv.Itoa(int(port)), svc)
	if errors.Is(err, errTaken) {
		return invalid(svc, p, port, "provided port is already allocated")
	}
	return err
}

// choosePorts gives a port to each that needs one. The same port under two protocols gets the same node port.
func (s *Services) choosePorts(ctx context.Context, svc *corev1.Service, claimed func(string)) error {
	spec := &svc.Spec
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	choose := func() (int32, error) {
		n, err := s.choose(ctx, s.ports, portPrefix, func(n uint32) string { return strconv.Itoa(int(n)) },
			func(name string) error { return s.takePort(ctx, name, svc) })
		if err != nil {
			return 0, failed(err, "a nodePort")
		}
		claimed(portPrefix + strconv.Itoa(int(n)))
		return int32(n), nil
	}
	if spec.Type == corev1.ServiceTypeNodePort || balanced && (spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts) {
		byPort := map[int32]int32{}
		for _, p := range spec.Ports {
			if p.NodePort != 0 {
				byPort[p.Port] = p.NodePort
			}
		}
		for i := range spec.Ports {
			p := &spec.Ports[i]
			if p.NodePort != 0 {
				continue
			}
			if byPort[p.Port] == 0 {
				n, err := choose()
				if err != nil {
					return err
				}
				byPort[p.Port] = n
			}
			p.NodePort = byPort[p.Port]
		}
	}
	if balanced && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && spec.HealthCheckNodePort == 0 {
		n, err := choose()
		spec.HealthCheckNodePort = n
		return err
	}
	return nil
}

var errFull = errors.New("range is full")

// choose takes one that is free: at random, and when that fails by looking.
func (s *Services) choose(ctx context.Context, p pool, prefix string, name func(uint32) string, take func(string) error) (uint32, error) {
	for range guesses {
		n := p.random()
		if err := take(name(n)); !errors.Is(err, errTaken) {
			return n, err
		}
	}
	taken, err := s.taken(ctx, prefix)
	if err != nil {
		return 0, err
	}
	for n := range p.free(func(n uint32) bool { return taken[name(n)] }) {
		if err := take(name(n)); !errors.Is(err, errTaken) {
			return n, err
		}
	}
	return 0, errFull
}

func (s *Services) takeAddress(ctx context.Context, ip string, svc *corev1.Service) error {
	c, err := s.addressClaim(ip, svc)
	if err != nil {
		return err
	}
	return s.take(ctx, c)
}

func (s *Services) takePort(ctx context.Context, port string, svc *corev1.Service) error {
	n, err := strconv.ParseInt(port, 10, 32)
	if err != nil {
		return err
	}
	c, err := s.portClaim(int32(n), svc)
	if err != nil {
		return err
	}
	return s.take(ctx, c)
}

func invalid(svc *corev1.Service, p *field.Path, value any, detail string) error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, svc.Name, field.ErrorList{field.Invalid(p, value, detail)})
}

// failed keeps the store's own errors, such as having no leader.
func failed(err error, what string) error {
	if errors.Is(err, errFull) {
		return apierrors.NewInternalError(fmt.Errorf("failed to allocate %s: %w", what, err))
	}
	return err
}
