package nodestatus

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/nodeapi"
)

const (
	leaseDuration = 40 * time.Second
	renewPeriod   = 10 * time.Second
	// checkPeriod is how often the node looks at itself, reportPeriod how often it reports even if nothing changed.
	checkPeriod  = 10 * time.Second
	reportPeriod = 5 * time.Minute
	// Back-off of registering and renewing while the api is away. A Lease must be renewed well before others take the node for dead.
	minRetry = 100 * time.Millisecond
	maxRetry = 3 * time.Second
)

// Config of the Node object.
type Config struct {
	Name    string
	Labels  map[string]string
	IPs     []string
	PodCIDR string
	// Dir is on the file system whose free space counts; empty leaves disks out.
	Dir                   string
	Capacity, Allocatable corev1.ResourceList
	Version               string
	API                   nodeapi.Interface
	Runtime               cri.Runtime
	Clock                 clock.Clock
	Logger                *slog.Logger
}

// Manager keeps the Node object.
type Manager struct {
	config Config
	ready  chan struct{}
	once   sync.Once

	// What follows belongs to Run's goroutines: info and reported to the status loop, lease to the heartbeat.
	info     corev1.NodeSystemInfo
	reported time.Time
	lease    *coordinationv1.Lease
}

// New makes a Manager.
func New(config Config) *Manager {
	return &Manager{config: config, ready: make(chan struct{}), info: systemInfo(config.Version, "")}
}

// Ready is closed when the api has the node and it is Ready.
func (m *Manager) Ready() <-chan struct{} { return m.ready }

// Run registers the node and keeps it until ctx is over.
func (m *Manager) Run(ctx context.Context) error {
	node, err := m.register(ctx)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { m.beat(ctx, node) })
	defer group.Wait()
	retry := minRetry
	for {
		pause := checkPeriod
		if err := m.report(ctx); err != nil && ctx.Err() == nil {
			m.config.Logger.Warn("node status not written", "node", m.config.Name, "error", err, "retry_in", retry)
			pause, retry = retry, min(2*retry, maxRetry)
		} else {
			retry = minRetry
		}
		select {
		case <-m.config.Clock.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// register makes the Node, or brings an old one up to date; it does not give up.
func (m *Manager) register(ctx context.Context) (*corev1.Node, error) {
	retry := minRetry
	for {
		node, err := m.tryRegister(ctx)
		if err == nil {
			return node, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m.config.Logger.Info("node not registered yet", "node", m.config.Name, "error", err, "retry_in", retry)
		select {
		case <-m.config.Clock.After(retry):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		retry = min(2*retry, maxRetry)
	}
}

func (m *Manager) tryRegister(ctx context.Context) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.config.Name, Labels: m.labels()}}
	if m.config.PodCIDR != "" {
		node.Spec = corev1.NodeSpec{PodCIDR: m.config.PodCIDR, PodCIDRs: []string{m.config.PodCIDR}}
	}
	node.Status = m.status(ctx, &corev1.NodeStatus{})
	created, err := m.config.API.CreateNode(ctx, node)
	if err == nil {
		return created, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	old, err := m.config.API.Node(ctx, m.config.Name)
	if err != nil {
		return nil, err
	}
	fresh := old.DeepCopy()
	if fresh.Labels == nil {
		fresh.Labels = map[string]string{}
	}
	maps.Copy(fresh.Labels, m.labels())
	if fresh.Spec.PodCIDR == "" {
		fresh.Spec.PodCIDR, fresh.Spec.PodCIDRs = node.Spec.PodCIDR, node.Spec.PodCIDRs
	} else if m.config.PodCIDR != "" && fresh.Spec.PodCIDR != m.config.PodCIDR {
		return nil, fmt.Errorf("node %s has the pod CIDR %s, not %s: delete the Node object to register it anew, or start the agent with its pod CIDR", m.config.Name, fresh.Spec.PodCIDR, m.config.PodCIDR)
	}
	if equality.Semantic.DeepEqual(old, fresh) {
		return old, nil
	}
	return m.config.API.UpdateNode(ctx, fresh)
}

// report writes the status if it is the first, differs, or the last is old.
func (m *Manager) report(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	node, err := m.config.API.Node(ctx, m.config.Name)
	if apierrors.IsNotFound(err) {
		// Somebody deleted it, but the node is here.
		node, err = m.tryRegister(ctx)
	}
	if err != nil {
		return err
	}
	status := m.status(ctx, &node.Status)
	now := m.config.Clock.Now()
	if m.reported.IsZero() || now.Sub(m.reported) >= reportPeriod || !same(&node.Status, &status, func(a, b any) bool { return equality.Semantic.DeepEqual(a, b) }) {
		node = node.DeepCopy()
		node.Status = status
		if _, err := m.config.API.UpdateNodeStatus(ctx, node); err != nil {
			return err
		}
		m.reported = now
	}
	for _, c := range status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			m.once.Do(func() { close(m.ready) })
		}
	}
	return nil
}

// beat renews the Lease.
func (m *Manager) beat(ctx context.Context, node *corev1.Node) {
	retry := minRetry
	for {
		pause := renewPeriod
		if err := m.renew(ctx, node); err != nil && ctx.Err() == nil {
			m.config.Logger.Warn("node lease not renewed", "node", m.config.Name, "error", err, "retry_in", retry)
			pause, retry = retry, min(2*retry, maxRetry)
			m.lease = nil // read it anew
		} else {
			retry = minRetry
		}
		select {
		case <-m.config.Clock.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

func (m *Manager) renew(ctx context.Context, node *corev1.Node) error {
	ctx, cancel := context.WithTimeout(ctx, renewPeriod)
	defer cancel()
	lease := m.lease
	if lease == nil {
		var err error
		if lease, err = m.config.API.Lease(ctx, m.config.Name); apierrors.IsNotFound(err) {
			lease = nil
		} else if err != nil {
			return err
		}
	}
	now := metav1.NewMicroTime(m.config.Clock.Now())
	duration := int32(leaseDuration.Seconds())
	name := m.config.Name
	spec := coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &duration, RenewTime: &now}
	var err error
	if lease == nil {
		m.lease, err = m.config.API.CreateLease(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: nodeapi.LeaseNamespace,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}},
			Spec: spec})
		return err
	}
	lease = lease.DeepCopy()
	lease.Spec = spec
	m.lease, err = m.config.API.UpdateLease(ctx, lease)
	return err
}
