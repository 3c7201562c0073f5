package podworker

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/status"
)

// plan is what is to be done for a pod that is not being ended.
type plan struct {
	// finished says that no container runs or will run again.
	finished bool
	// sandbox says that a new sandbox is needed.
	sandbox bool
	// start are containers to be started now; their back-off is not considered yet.
	start []*corev1.Container
	// stop are running containers to be stopped, with what to tell.
	stop []stopOrder
}

type stopOrder struct {
	container *podstate.Container
	spec      *corev1.Container
	message   string
	// grace replaces the pod's, if set.
	grace *int64
}

// failing tells which running containers have failed a probe for good.
type failing interface {
	Failed(containerID string) (probe *corev1.Probe, name string, failed bool)
}

// makePlan compares the pod with what is there.
func makePlan(pod *corev1.Pod, state *podstate.Pod, probes status.Probes, fails failing) plan {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return plan{finished: true}
	}
	sandbox := state.ReadySandbox()
	if sandbox == nil {
		if done(pod, state) {
			return plan{finished: true}
		}
		return plan{sandbox: true}
	}
	current := func(name string) *podstate.Container {
		for i := range state.Containers {
			if c := &state.Containers[i]; c.Name == name && c.SandboxID == sandbox.ID {
				return c
			}
		}
		return nil
	}
	p := plan{}
	ready, failed := p.planInit(pod, current, probes, fails)
	if failed {
		return plan{finished: true}
	}
	if ready {
		p.planRegular(pod, state, current, fails)
	}
	if ready && len(p.start) == 0 && allEnded(pod, current, state) {
		// Sidecars live as long as there is something beside them.
		p.start, p.stop, p.finished = nil, nil, true
	}
	return p
}

// planInit goes through the init containers in order; each must be done before the next. ready says that the others may run.
func (p *plan) planInit(pod *corev1.Pod, current func(string) *podstate.Container, probes status.Probes, fails failing) (ready, failed bool) {
	// Once the others have been started, only sidecars are looked after.
	begun := slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return current(c.Name) != nil })
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		is := current(c.Name)
		if status.IsSidecar(c) {
			switch {
			case is == nil || is.State != podstate.Running:
				p.start = append(p.start, c)
				if !begun {
					return false, false
				}
			default:
				p.checkProbes(is, c, fails)
				if !begun && !probes.Started(is.ID) {
					return false, false
				}
			}
			continue
		}
		if begun {
			continue
		}
		switch {
		case is == nil || is.State == podstate.Created || is.State == podstate.Unknown:
			p.start = append(p.start, c)
			return false, false
		case is.State == podstate.Running:
			return false, false
		case is.ExitCode != 0:
			if !restarts(pod, c, is) {
				return false, true
			}
			p.start = append(p.start, c)
			return false, false
		}
	}
	return true, false
}

func (p *plan) planRegular(pod *corev1.Pod, state *podstate.Pod, current func(string) *podstate.Container, fails failing) {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		is := current(c.Name)
		if is == nil {
			// In a new sandbox what had ended for good before stays ended.
			if before := state.Latest(c.Name); before != nil && before.State == podstate.Exited && !restarts(pod, c, before) {
				continue
			}
			p.start = append(p.start, c)
			continue
		}
		switch is.State {
		case podstate.Running:
			if is.Hash != podconfig.Hash(c) {
				p.stop = append(p.stop, stopOrder{container: is, spec: c, message: "Container " + c.Name + " definition changed, will be restarted"})
				continue
			}
			p.checkProbes(is, c, fails)
		case podstate.Exited:
			if restarts(pod, c, is) {
				p.start = append(p.start, c)
			}
		default:
			p.start = append(p.start, c)
		}
	}
}

func (p *plan) checkProbes(is *podstate.Container, c *corev1.Container, fails failing) {
	if probe, name, failed := fails.Failed(is.ID); failed {
		p.stop = append(p.stop, stopOrder{container: is, spec: c, message: "Container " + c.Name + " failed " + name + " probe, will be restarted", grace: probe.TerminationGracePeriodSeconds})
	}
}

// restarts tells whether a container that ended is to be run again.
func restarts(pod *corev1.Pod, c *corev1.Container, ended *podstate.Container) bool {
	for _, rule := range c.RestartPolicyRules {
		if rule.Action != corev1.ContainerRestartRuleActionRestart || rule.ExitCodes == nil {
			continue
		}
		listed := slices.Contains(rule.ExitCodes.Values, ended.ExitCode)
		if rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn && listed || rule.ExitCodes.Operator == corev1.ContainerRestartRuleOnExitCodesOpNotIn && !listed {
			return true
		}
	}
	policy := pod.Spec.RestartPolicy
	if c.RestartPolicy != nil {
		policy = corev1.RestartPolicy(*c.RestartPolicy)
	}
	switch policy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return ended.ExitCode != 0
	}
	return true
}

// allEnded tells that every regular container has ended for good.
func allEnded(pod *corev1.Pod, current func(string) *podstate.Container, state *podstate.Pod) bool {
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		is := current(c.Name)
		if is == nil {
			is = state.Latest(c.Name)
		}
		if is == nil || is.State != podstate.Exited || restarts(pod, c, is) {
			return false
		}
	}
	return true
}

// done tells, for a pod without a sandbox, that it had its run.
func done(pod *corev1.Pod, state *podstate.Pod) bool {
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if is := state.Latest(c.Name); !status.IsSidecar(c) && is != nil && is.State == podstate.Exited && is.ExitCode != 0 && !restarts(pod, c, is) {
			return true
		}
	}
	return allEnded(pod, state.Latest, state)
}
