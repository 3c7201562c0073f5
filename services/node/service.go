package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/node/agent"
	"github.com/orrery-io/orrery/services/node/cgroups"
	"github.com/orrery-io/orrery/services/node/containerd"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/network"
	"github.com/orrery-io/orrery/services/node/nodeapi"
	"github.com/orrery-io/orrery/services/node/nodestatus"
	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/session"
	"github.com/orrery-io/orrery/services/node/simulated"
)

// removeTimeout bounds how long taking a node down may take.
const removeTimeout = 60 * time.Second

// Service is a node, or several hollow ones.
type Service struct {
	config Config
	ready  chan struct{}
}

// New checks the configuration. Run runs the node.
func New(config Config) (*Service, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	return &Service{config: config, ready: make(chan struct{})}, nil
}

// Ready is closed when the node, or every hollow one, is registered and Ready.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Run runs the node until ctx is over, and then, unless KeepPods is set, takes down all that it has on the machine.
func (s *Service) Run(ctx context.Context) error {
	client, closeClient, err := apiclient.Dial(s.config.API)
	if err != nil {
		return err
	}
	defer closeClient()
	if s.config.Simulate > 0 {
		return s.runHollow(ctx, client)
	}
	if err := os.MkdirAll(s.config.DataDir, 0o755); err != nil {
		return fmt.Errorf("node: the data folder: %w", err)
	}
	subnet, err := s.subnet()
	if err != nil {
		return fmt.Errorf("node: %w", err)
	}
	runtime, stop, err := s.runtime(ctx, subnet)
	if err != nil {
		return fmt.Errorf("node %s: %w", s.config.Name, err)
	}
	config, err := s.agentConfig(runtime, subnet)
	if err != nil {
		return errors.Join(fmt.Errorf("node %s: %w", s.config.Name, err), stop(context.WithoutCancel(ctx)))
	}
	api := nodeapi.New(client)
	config.API = api
	source := agent.NewSource(api, s.config.Name, s.config.Logger)
	config.Pods = source
	config.Session = func(ctx context.Context, c session.Config) error {
		c.API = s.config.API
		return session.Run(ctx, c)
	}
	err = s.runAgents(ctx, source, []*agent.Agent{agent.New(config)})
	// What is left to do must be done though ctx is over.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	return errors.Join(err, stop(ending))
}

// runAgents runs the agents on their common source until ctx is over or one fails.
func (s *Service) runAgents(ctx context.Context, source *agent.Source, agents []*agent.Agent) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	errs := make([]error, len(agents))
	group.Go(func() { _ = source.Run(ctx) }) // ends with ctx alone
	for i, a := range agents {
		group.Go(func() {
			if errs[i] = a.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	group.Go(func() {
		for _, a := range agents {
			select {
			case <-a.Ready():
			case <-ctx.Done():
				return
			}
		}
		close(s.ready)
	})
	group.Wait()
	return errors.Join(errs...)
}

func (s *Service) subnet() (netip.Prefix, error) {
	if s.config.PodCIDR != "" {
		prefix, err := netip.ParsePrefix(s.config.PodCIDR)
		return prefix.Masked(), err
	}
	return network.PodSubnet(filepath.Join(s.config.DataDir, "pod-cidr"), s.config.DataDir)
}

// runtime starts or finds the container runtime. stop takes down, or lets go of, what was started.
func (s *Service) runtime(ctx context.Context, subnet netip.Prefix) (_ cri.Runtime, stop func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	if s.config.RuntimeEndpoint != "" {
		client, err := cri.Dial(s.config.RuntimeEndpoint)
		if err != nil {
			return nil, nil, err
		}
		return client, func(context.Context) error { return client.Close() }, nil
	}
	kind := s.config.Runtime
	if kind == RuntimeAuto {
		var reason string
		if kind, reason = AutoRuntime(); reason != "" {
			s.config.Logger.Warn("containers are simulated", "reason", reason)
		}
	}
	if kind == RuntimeSimulated {
		return simulated.New(s.config.Clock, subnet), nothing, nil
	}
	daemon, err := containerd.Start(ctx, containerd.Config{Dir: s.containerdDir(), PodSubnet: subnet, RegistryMirrors: s.config.RegistryMirrors, SandboxImage: s.config.SandboxImage, Logger: s.config.Logger})
	if err != nil {
		return nil, nil, err
	}
	return daemon.Client(), func(ctx context.Context) error {
		if s.config.KeepPods {
			return daemon.Detach()
		}
		return errors.Join(daemon.Remove(ctx), clearNode(s.config.DataDir))
	}, nil
}

func (s *Service) containerdDir() string { return filepath.Join(s.config.DataDir, "containerd") }

// cgroupRoot is the group of all pods of the node in a data folder.
func cgroupRoot(dataDir string) string {
	return "/orrery-" + strings.TrimPrefix(network.BridgeName(dataDir), "orr")
}

// clearNode takes away volumes and cgroups of pods that are gone from the runtime.
func clearNode(dataDir string) error {
	host := podconfig.Host{Dir: dataDir}
	entries, err := os.ReadDir(filepath.Join(dataDir, "pods"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	errs := []error{cgroups.New("", cgroupRoot(dataDir)).RemoveAll()}
	for _, entry := range entries {
		errs = append(errs, removeVolumes(host, entry.Name()))
	}
	return errors.Join(errs...)
}

// agentConfig describes the node.
func (s *Service) agentConfig(runtime cri.Runtime, subnet netip.Prefix) (agent.Config, error) {
	capacity, err := nodestatus.Capacity(s.config.DataDir, int64(s.config.MaxPods))
	if err != nil {
		return agent.Config{}, err
	}
	host := podconfig.Host{NodeName: s.config.Name, NodeIPs: []string{s.nodeIP(runtime, subnet)}, Dir: s.config.DataDir, CgroupRoot: cgroupRoot(s.config.DataDir),
		ClusterDNS: s.config.ClusterDNS, ClusterDomain: s.config.ClusterDomain, ResolvConf: "/etc/resolv.conf", Allocatable: nodestatus.Allocatable(capacity)}
	if _, ok := runtime.(*simulated.Runtime); ok {
		host.Dir, host.CgroupRoot = "", "" // nothing reads what would be written
	}
	return agent.Config{Runtime: runtime, Host: host, Version: Version, Clock: s.config.Clock, Logger: s.config.Logger,
		Node: nodestatus.Config{Labels: s.config.Labels, IPs: host.NodeIPs, PodCIDR: subnet.String(), Dir: s.config.DataDir, Capacity: capacity, Allocatable: host.Allocatable}}, nil
}

// nodeIP is the configured address or the machine's. A machine without any is reached by its pods at their bridge.
func (s *Service) nodeIP(runtime cri.Runtime, subnet netip.Prefix) string {
	if s.config.NodeIP != "" {
		return s.config.NodeIP
	}
	if addr, ok := network.HostIP(); ok {
		return addr.String()
	}
	if _, simulated := runtime.(*simulated.Runtime); simulated {
		return "127.0.0.1"
	}
	return network.Gateway(subnet).String()
}

// hollowCapacity is that of a large machine, as scale tests are not about room.
func hollowCapacity(maxPods int) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
		corev1.ResourcePods:             *resource.NewQuantity(int64(maxPods), resource.DecimalSI),
	}
}

// runHollow runs many agents with simulated containers over one connection and one stream of pods.
func (s *Service) runHollow(ctx context.Context, client *apiclient.Client) error {
	api := nodeapi.New(client)
	source := agent.NewSource(api, "", s.config.Logger)
	agents := make([]*agent.Agent, s.config.Simulate)
	capacity := hollowCapacity(s.config.MaxPods)
	for i := range agents {
		name := fmt.Sprintf("%s-%d", s.config.Name, i)
		// Hollow nodes' networks are 100.64.0.0/10 in pieces of 256; they never meet a wire.
		subnet := netip.PrefixFrom(netip.AddrFrom4([4]byte{100, byte(64 + i>>8&63), byte(i), 0}), 24)
		host := podconfig.Host{NodeName: name, NodeIPs: []string{network.Gateway(subnet).String()}, ClusterDomain: s.config.ClusterDomain, Allocatable: capacity}
		agents[i] = agent.New(agent.Config{API: api, Runtime: simulated.New(s.config.Clock, subnet), Host: host, Pods: source, Version: Version, Clock: s.config.Clock, Logger: s.config.Logger,
			Node:    nodestatus.Config{Labels: s.config.Labels, IPs: host.NodeIPs, PodCIDR: subnet.String(), Capacity: capacity, Allocatable: capacity},
			Session: func(ctx context.Context, c session.Config) error { return session.RunOn(ctx, c, client.Conn()) }})
	}
	return s.runAgents(ctx, source, agents)
}
