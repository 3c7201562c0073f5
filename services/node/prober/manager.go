package prober

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/events"
	"github.com/orrery-io/orrery/services/node/podstate"
)

// Manager runs the probes of all containers. It is safe for concurrent use.
type Manager struct {
	checker *Checker
	events  *events.Recorder
	clock   clock.WithTicker
	wake    func(types.UID)
	ctx     context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup

	mu         sync.Mutex
	containers map[string]*probed
}

// probed is a running container with probes.
type probed struct {
	pod     types.UID
	name    string
	cancel  context.CancelFunc
	verdict map[kind]verdict
	output  map[kind]string
	// startedUp is closed when the startup probe has succeeded.
	startedUp chan struct{}
	probes    map[kind]*corev1.Probe
}

// NewManager makes a Manager; wake is called when a verdict on one of the pod's containers changed. Close ends it.
func NewManager(checker *Checker, recorder *events.Recorder, clock clock.WithTicker, wake func(types.UID)) *Manager {
	ctx, cancel := context.WithCancel(context.Background())
	return &Manager{checker: checker, events: recorder, clock: clock, wake: wake, ctx: ctx, cancel: cancel, containers: map[string]*probed{}}
}

// Close ends all probes.
func (m *Manager) Close() {
	m.cancel()
	m.group.Wait()
}

// Sync starts the probes of the pod's running containers that have none yet, and ends those of containers that no longer run.
func (m *Manager) Sync(pod *corev1.Pod, state *podstate.Pod, podIP string) {
	running := map[string]bool{}
	m.mu.Lock()
	defer m.mu.Unlock()
	visit := func(list []corev1.Container) {
		for i := range list {
			c := &list[i]
			if c.LivenessProbe == nil && c.ReadinessProbe == nil && c.StartupProbe == nil {
				continue
			}
			latest := state.Latest(c.Name)
			if latest == nil || latest.State != podstate.Running {
				continue
			}
			running[latest.ID] = true
			if m.containers[latest.ID] == nil {
				m.begin(pod, c, latest, podIP)
			}
		}
	}
	visit(pod.Spec.InitContainers)
	visit(pod.Spec.Containers)
	for id, p := range m.containers {
		if p.pod == pod.UID && !running[id] {
			p.cancel()
			delete(m.containers, id)
		}
	}
}

// begin starts a container's probes; m.mu is held.
func (m *Manager) begin(pod *corev1.Pod, c *corev1.Container, container *podstate.Container, podIP string) {
	ctx, cancel := context.WithCancel(m.ctx)
	p := &probed{pod: pod.UID, name: c.Name, cancel: cancel, verdict: map[kind]verdict{}, output: map[kind]string{}, startedUp: make(chan struct{}), probes: map[kind]*corev1.Probe{}}
	for k, probe := range map[kind]*corev1.Probe{startup: c.StartupProbe, readiness: c.ReadinessProbe, liveness: c.LivenessProbe} {
		if probe != nil {
			p.probes[k] = probe
		}
	}
	// An agent that restarts goes on with what it told before, so that a ready pod does not blink.
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for _, s := range list {
			if s.Name == c.Name && s.ContainerID == "containerd://"+container.ID {
				if s.Started != nil && *s.Started {
					p.verdict[startup] = success
				}
				if s.Ready {
					p.verdict[readiness] = success
				}
			}
		}
	}
	if p.probes[startup] == nil || p.verdict[startup] == success {
		p.verdict[startup] = success
		close(p.startedUp)
	}
	m.containers[container.ID] = p
	for k, probe := range p.probes {
		if k == startup && p.verdict[startup] == success {
			continue
		}
		w := &worker{manager: m, probed: p, kind: k, probe: probe, pod: pod, target: Target{ContainerID: container.ID, Container: c, PodIP: podIP}, started: container.StartedAt}
		m.group.Go(func() { w.run(ctx) })
	}
}

// End ends all probes of a pod.
func (m *Manager) End(pod types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, p := range m.containers {
		if p.pod == pod {
			p.cancel()
			delete(m.containers, id)
		}
	}
}

// settle notes a verdict and wakes the pod when it is a new one.
func (m *Manager) settle(p *probed, k kind, v verdict, output string) {
	m.mu.Lock()
	changed := p.verdict[k] != v
	if changed {
		p.verdict[k], p.output[k] = v, output
		if k == startup && v == success {
			close(p.startedUp)
		}
	}
	m.mu.Unlock()
	if changed {
		m.wake(p.pod)
	}
}

// Started implements status.Probes.
func (m *Manager) Started(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.containers[id]
	return p == nil || p.verdict[startup] == success
}

// Ready implements status.Probes.
func (m *Manager) Ready(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.containers[id]
	return p == nil || p.verdict[startup] == success && (p.probes[readiness] == nil || p.verdict[readiness] == success)
}

// Failed tells that the container must be replaced, by which probe ("liveness", "startup"), and the probe.
func (m *Manager) Failed(id string) (probe *corev1.Probe, name string, failed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.containers[id]
	switch {
	case p == nil:
	case p.verdict[startup] == failure:
		return p.probes[startup], "startup", true
	case p.verdict[liveness] == failure:
		return p.probes[liveness], "liveness", true
	}
	return nil, "", false
}
