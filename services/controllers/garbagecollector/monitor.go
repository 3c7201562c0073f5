package garbagecollector

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// rediscover is how often new and vanished resources are looked for; syncPatience how long the start waits for the watches.
const (
	rediscover   = 30 * time.Second
	syncPatience = 30 * time.Second
)

// ignored are resources whose objects own nothing, are owned by nothing, and change a lot.
var ignored = map[schema.GroupResource]bool{
	{Resource: "events"}:                         true,
	{Group: "events.k8s.io", Resource: "events"}: true,
}

// monitors are the watches of all resources that can be collected.
type monitors struct {
	*collector
	mu        sync.RWMutex
	resources map[schema.GroupKind]apiclient.APIResource
	running   map[schema.GroupVersionResource]*monitor
	wait      sync.WaitGroup
}

type monitor struct {
	informer *informer.Informer[*metav1.PartialObjectMetadata]
	cancel   context.CancelFunc
}

// byKind finds the resource that an owner reference means.
func (m *monitors) byKind(apiVersion, kind string) (apiclient.APIResource, bool) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return apiclient.APIResource{}, false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, ok := m.resources[schema.GroupKind{Group: gv.Group, Kind: kind}]
	return r, ok
}

// refresh asks what the api serves, and starts and stops watches accordingly. Started watches end with ctx.
func (m *monitors) refresh(ctx context.Context) error {
	found, err := m.Client.Resources(ctx)
	if err != nil {
		return fmt.Errorf("discovering resources: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resources = map[schema.GroupKind]apiclient.APIResource{}
	wanted := map[schema.GroupVersionResource]bool{}
	for _, r := range found {
		m.resources[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = r
		if !r.Has("delete", "list", "watch") || ignored[r.GroupResource()] {
			continue
		}
		wanted[r.GroupVersionResource] = true
		if m.running[r.GroupVersionResource] == nil {
			m.running[r.GroupVersionResource] = m.start(ctx, r)
		}
	}
	for gvr, mon := range m.running {
		if !wanted[gvr] {
			mon.cancel()
			delete(m.running, gvr)
		}
	}
	return nil
}

func (m *monitors) start(ctx context.Context, r apiclient.APIResource) *monitor {
	ctx, cancel := context.WithCancel(ctx)
	i := informer.New(r.Resource, informer.WatchingMetadata(m.Client.Metadata(r.GroupVersionResource, "")), informer.Options[*metav1.PartialObjectMetadata]{
		Clock: m.Clock, Logger: m.Logger,
		// The graph keeps what is needed; the copy need only know what is there.
		Transform: func(obj *metav1.PartialObjectMetadata) {
			obj.ManagedFields, obj.Annotations, obj.Labels = nil, nil, nil
		},
	})
	look := func(uids []types.UID, cause informer.Cause) {
		for _, uid := range uids {
			m.queue.Enqueue(string(uid), cause)
		}
	}
	i.AddHandler(informer.Handler[*metav1.PartialObjectMetadata]{
		Add: func(obj *metav1.PartialObjectMetadata, cause informer.Cause) {
			look(m.graph.set(nodeOf(r, obj)), cause)
		},
		Update: func(_, obj *metav1.PartialObjectMetadata, cause informer.Cause) {
			look(m.graph.set(nodeOf(r, obj)), cause)
		},
		Delete: func(obj *metav1.PartialObjectMetadata, cause informer.Cause) { look(m.graph.remove(obj.UID), cause) },
	})
	m.wait.Go(func() { _ = i.Run(ctx) })
	return &monitor{informer: i, cancel: cancel}
}

// sync waits until all watches have shown what there is, or for syncPatience: one resource that cannot be watched must not stop the collection
// of all others, which asks the api before it deletes anyway.
func (m *monitors) sync(ctx context.Context) {
	timer := m.Clock.NewTimer(syncPatience)
	defer timer.Stop()
	m.mu.RLock()
	waiting := map[schema.GroupVersionResource]*monitor{}
	for gvr, mon := range m.running {
		waiting[gvr] = mon
	}
	m.mu.RUnlock()
	for gvr, mon := range waiting {
		select {
		case <-mon.informer.Synced():
		case <-ctx.Done():
			return
		case <-timer.C():
			m.Logger.Warn("not all resources can be watched yet, collecting garbage without them", "resource", gvr)
			return
		}
	}
}
