package prober

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// kind of a probe, as events call it.
type kind string

const (
	startup   kind = "Startup"
	readiness kind = "Readiness"
	liveness  kind = "Liveness"
)

// verdict of a probe so far.
type verdict int

const (
	undecided verdict = iota
	success
	failure
)

// worker does one probe of one container, over and over.
type worker struct {
	manager *Manager
	probed  *probed
	kind    kind
	probe   *corev1.Probe
	pod     *corev1.Pod
	target  Target
	started time.Time
	// streak counts equal outcomes in a row, the last of which was good.
	streak int32
	good   bool
}

func (w *worker) run(ctx context.Context) {
	clock := w.manager.clock
	if delay := time.Duration(w.probe.InitialDelaySeconds)*time.Second - clock.Since(w.started); delay > 0 {
		select {
		case <-clock.After(delay):
		case <-ctx.Done():
			return
		}
	}
	if w.kind != startup {
		select {
		case <-w.probed.startedUp:
		case <-ctx.Done():
			return
		}
	}
	period := time.Duration(max(w.probe.PeriodSeconds, 1)) * time.Second
	ticker := clock.NewTicker(period)
	defer ticker.Stop()
	for {
		if !w.once(ctx) {
			return
		}
		select {
		case <-ticker.C():
		case <-ctx.Done():
			return
		}
	}
}

// once probes and settles the verdict; false means that the probe has done its work.
func (w *worker) once(ctx context.Context) bool {
	ok, output, err := w.manager.checker.Probe(ctx, w.target, w.probe)
	if ctx.Err() != nil {
		return false
	}
	events := w.manager.events
	switch {
	case err != nil:
		events.Container(ctx, w.pod, w.target.Container.Name, corev1.EventTypeWarning, "Unhealthy", "%s probe errored and resulted in unknown state: %v", w.kind, err)
		return true
	case !ok:
		events.Container(ctx, w.pod, w.target.Container.Name, corev1.EventTypeWarning, "Unhealthy", "%s probe failed: %s", w.kind, output)
	}
	if ok != w.good || w.streak == 0 {
		w.good, w.streak = ok, 0
	}
	w.streak++
	if ok && w.streak < max(w.probe.SuccessThreshold, 1) || !ok && w.streak < max(w.probe.FailureThreshold, 1) {
		return true
	}
	v := failure
	if ok {
		v = success
	}
	w.manager.settle(w.probed, w.kind, v, output)
	// A startup probe succeeds once; after a fatal verdict the container is replaced.
	return !(w.kind == startup && ok || w.kind != readiness && !ok)
}
