package allocation

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/store/memory"
)

func newServices(t *testing.T, c Config) (*Services, *clocktesting.FakePassiveClock) {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(store.Close)
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	c.KV, c.Clock = store, now
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s, now
}

func service(name string, kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.ServiceSpec{Type: kind, Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}}}
}

// A range of eight addresses holds six services, and each gets one of its own though all ask at once.
func TestAddressesAreUniqueAndRunOut(t *testing.T) {
	s, _ := newServices(t, Config{Addresses: netip.MustParsePrefix("10.0.0.0/29")})
	services := make([]*corev1.Service, 6)
	var running sync.WaitGroup
	for i := range services {
		services[i] = service("web", corev1.ServiceTypeClusterIP)
		running.Go(func() {
			if _, err := s.Claim(context.Background(), services[i], nil); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	seen := map[string]bool{}
	for _, svc := range services {
		ip := netip.MustParseAddr(svc.Spec.ClusterIP)
		if seen[svc.Spec.ClusterIP] || !s.prefix.Contains(ip) || svc.Spec.ClusterIPs[0] != svc.Spec.ClusterIP {
			t.Errorf("%s is twice, or outside of the range: %v", ip, svc.Spec.ClusterIPs)
		}
		seen[svc.Spec.ClusterIP] = true
	}
	_, err := s.Claim(context.Background(), service("late", corev1.ServiceTypeClusterIP), nil)
	if err == nil || !strings.Contains(err.Error(), "failed to allocate a serviceIP: range is full") {
		t.Errorf("the seventh got %v", err)
	}
	s.Release(context.Background(), services[3], nil)
	again := service("late", corev1.ServiceTypeClusterIP)
	if _, err := s.Claim(context.Background(), again, nil); err != nil || again.Spec.ClusterIP != services[3].Spec.ClusterIP {
		t.Errorf("after a release: %v, %s", err, again.Spec.ClusterIP)
	}
}

func TestNamedAddressesAndPorts(t *testing.T) {
	ctx := context.Background()
	s, _ := newServices(t, Config{})
	first := service("a", corev1.ServiceTypeNodePort)
	first.Spec.ClusterIP, first.Spec.ClusterIPs, first.Spec.Ports[0].NodePort = "10.96.0.10", []string{"10.96.0.10"}, 30080
	undo, err := s.Claim(ctx, first, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		change func(*corev1.Service)
		want   string
	}{
		{func(s *corev1.Service) { s.Spec.ClusterIP = "10.96.0.10" }, "failed to allocate IP 10.96.0.10: provided IP is already allocated"},
		{func(s *corev1.Service) { s.Spec.ClusterIP = "10.97.0.1" }, "failed to allocate IP 10.97.0.1: the provided IP (10.97.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16"},
		{func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 30080 }, "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"},
		{func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 80 }, "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767"},
	} {
		svc := service("b", corev1.ServiceTypeNodePort)
		test.change(svc)
		if _, err := s.Claim(ctx, svc, nil); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
	undo()
	again := service("c", corev1.ServiceTypeNodePort)
	again.Spec.ClusterIP, again.Spec.Ports[0].NodePort = "10.96.0.10", 30080
	if _, err := s.Claim(ctx, again, nil); err != nil {
		t.Errorf("after undo: %v", err)
	}
}

func TestPortsAreChosenAndShared(t *testing.T) {
	ctx := context.Background()
	s, _ := newServices(t, Config{FirstPort: 30000, LastPort: 30002})
	svc := service("dns", corev1.ServiceTypeNodePort)
	svc.Spec.Ports = []corev1.ServicePort{{Name: "udp", Port: 53, Protocol: corev1.ProtocolUDP}, {Name: "tcp", Port: 53, Protocol: corev1.ProtocolTCP}, {Name: "web", Port: 80}}
	if _, err := s.Claim(ctx, svc, nil); err != nil {
		t.Fatal(err)
	}
	p := svc.Spec.Ports
	if p[0].NodePort == 0 || p[0].NodePort != p[1].NodePort || p[2].NodePort == p[0].NodePort {
		t.Errorf("ports %d, %d and %d", p[0].NodePort, p[1].NodePort, p[2].NodePort)
	}
	// An update that only adds a port takes one more, and frees what it drops.
	more := svc.DeepCopy()
	more.Spec.Ports = append(more.Spec.Ports[2:], corev1.ServicePort{Name: "more", Port: 81})
	if _, err := s.Claim(ctx, more, svc); err != nil {
		t.Fatal(err)
	}
	s.Release(ctx, svc, more)
	taken, err := s.taken(ctx, portPrefix)
	if err != nil || len(taken) != 2 {
		t.Errorf("taken: %v, %v", taken, err)
	}
}

// A claim whose service never came to be does not last.
func TestClaimsLeftBehindAreTakenOver(t *testing.T) {
	ctx := context.Background()
	s, now := newServices(t, Config{})
	claim := func(name string) error {
		svc := service(name, corev1.ServiceTypeClusterIP)
		svc.Spec.ClusterIP = "10.96.0.20"
		_, err := s.Claim(ctx, svc, nil)
		return err
	}
	if err := claim("lost"); err != nil {
		t.Fatal(err)
	}
	if err := claim("early"); !apierrors.IsInvalid(err) {
		t.Errorf("a fresh claim was given away: %v", err)
	}
	now.SetTime(now.Now().Add(2 * abandoned))
	if err := claim("late"); err != nil {
		t.Error(err)
	}
}

func TestHeadlessAndExternalServicesTakeNothing(t *testing.T) {
	s, _ := newServices(t, Config{})
	headless, external := service("h", corev1.ServiceTypeClusterIP), service("e", corev1.ServiceTypeExternalName)
	headless.Spec.ClusterIP, headless.Spec.ClusterIPs = corev1.ClusterIPNone, []string{corev1.ClusterIPNone}
	for _, svc := range []*corev1.Service{headless, external} {
		if _, err := s.Claim(context.Background(), svc, nil); err != nil {
			t.Error(err)
		}
	}
	if taken, err := s.taken(context.Background(), addressPrefix); err != nil || len(taken) != 0 {
		t.Errorf("taken: %v, %v", taken, err)
	}
}

func TestRangesThatMakeNoSense(t *testing.T) {
	for _, c := range []Config{
		{Addresses: netip.MustParsePrefix("fd00::/108")}, {Addresses: netip.MustParsePrefix("10.0.0.0/30")},
		{FirstPort: 10, LastPort: 5}, {FirstPort: 1, LastPort: 70000},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}
