package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/cgroups"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/events"
	"github.com/orrery-io/orrery/services/node/images"
	"github.com/orrery-io/orrery/services/node/nodeapi"
	"github.com/orrery-io/orrery/services/node/nodestatus"
	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/podworker"
	"github.com/orrery-io/orrery/services/node/prober"
	"github.com/orrery-io/orrery/services/node/session"
	"github.com/orrery-io/orrery/services/node/status"
	"github.com/orrery-io/orrery/services/node/volumes"
)

// Config of one node's agent.
type Config struct {
	API     nodeapi.Interface
	Runtime cri.Runtime
	// Host is what the node gives its pods; its NodeName is the node's name.
	Host podconfig.Host
	// Node describes the Node object; name, api, runtime, clock and logger are filled in.
	Node nodestatus.Config
	// Pods is where pods come from.
	Pods Pods
	// Session serves logs, exec and the like until its context is over; nil for none. Name, runtime, pods, clock and logger are filled in.
	Session func(ctx context.Context, config session.Config) error
	Version string
	Clock   clock.WithTicker
	Logger  *slog.Logger
}

// Agent runs one node.
type Agent struct {
	config  Config
	logger  *slog.Logger
	reader  *podstate.Reader
	watcher *podstate.Watcher
	events  *events.Recorder
	images  *images.Manager
	probes  *prober.Manager
	status  *status.Writer
	volumes *volumes.Manager
	cgroups *cgroups.Manager
	workers *podworker.Manager
	node    *nodestatus.Manager

	mu   sync.Mutex
	pods map[types.NamespacedName]*corev1.Pod
}

// New makes an Agent; Run runs it.
func New(config Config) *Agent {
	a := &Agent{config: config, logger: config.Logger.With("node", config.Host.NodeName), pods: map[types.NamespacedName]*corev1.Pod{}}
	wake := func(uid types.UID) { a.workers.Wake(uid) }
	a.reader = podstate.NewReader(config.Runtime)
	a.watcher = podstate.NewWatcher(config.Runtime, config.Clock, a.logger, wake)
	a.events = events.New(config.API, config.Host.NodeName, config.Clock, a.logger)
	a.images = images.New(config.Runtime, config.API, a.events, config.Clock, a.logger, wake)
	checker := prober.NewChecker(config.Runtime)
	a.probes = prober.NewManager(checker, a.events, config.Clock, wake)
	a.status = status.NewWriter(config.API, config.Clock, a.logger)
	a.volumes = volumes.New(config.Host, config.API)
	if config.Host.CgroupRoot != "" {
		a.cgroups = cgroups.New("", config.Host.CgroupRoot)
	}
	a.workers = podworker.New(podworker.Deps{Runtime: config.Runtime, Reader: a.reader, Images: a.images, Volumes: a.volumes, Cgroups: a.cgroups, Status: a.status, Probes: a.probes,
		Checker: checker, Events: a.events, Host: config.Host, Sources: config.API, Deleter: config.API, Poke: a.watcher.Poke, Clock: config.Clock, Logger: a.logger})
	node := config.Node
	node.Name, node.API, node.Runtime, node.Clock, node.Logger, node.Version = config.Host.NodeName, config.API, config.Runtime, config.Clock, a.logger, config.Version
	a.node = nodestatus.New(node)
	return a
}

// Ready is closed when the node is registered and Ready.
func (a *Agent) Ready() <-chan struct{} { return a.node.Ready() }

// Run runs the node until ctx is over. Containers go on running afterwards.
func (a *Agent) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	errs := make(chan error, 8)
	run := func(what string, f func(context.Context) error) {
		group.Go(func() {
			if err := f(ctx); err != nil && ctx.Err() == nil {
				errs <- fmt.Errorf("%s: %w", what, err)
				cancel()
			}
		})
	}
	unsubscribe := a.config.Pods.Subscribe(a.config.Host.NodeName, a)
	run("events", a.events.Run)
	run("node status", a.node.Run)
	run("runtime watcher", a.watcher.Run)
	run("housekeeping", a.keepHouse)
	if a.config.Session != nil {
		run("session", func(ctx context.Context) error {
			return a.config.Session(ctx, session.Config{NodeName: a.config.Host.NodeName, Version: a.config.Version, Runtime: a.config.Runtime, Reader: a.reader, Pod: a.pod,
				Clock: a.config.Clock, Logger: a.logger})
		})
	}
	<-ctx.Done()
	cancel()
	unsubscribe()
	group.Wait()
	a.workers.Close()
	a.images.Close()
	a.probes.Close()
	a.status.Close()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// Added implements Subscriber.
func (a *Agent) Added(pod *corev1.Pod, traceParent string) {
	a.mu.Lock()
	a.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
	a.mu.Unlock()
	a.workers.Update(pod, traceParent)
}

// Removed implements Subscriber.
func (a *Agent) Removed(pod *corev1.Pod) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	a.mu.Lock()
	if known := a.pods[name]; known != nil && known.UID == pod.UID {
		delete(a.pods, name)
	}
	a.mu.Unlock()
	a.workers.Gone(pod.UID)
}

func (a *Agent) pod(namespace, name string) (*corev1.Pod, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod, ok := a.pods[types.NamespacedName{Namespace: namespace, Name: name}]
	return pod, ok
}
