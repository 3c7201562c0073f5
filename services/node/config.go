package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/node/containerd"
)

// Runtimes that Config.Runtime names.
const (
	// RuntimeAuto is containerd where it can run, else simulated.
	RuntimeAuto       = "auto"
	RuntimeContainerd = "containerd"
	RuntimeSimulated  = "simulated"
)

// Version is what nodes report; the kubelet's whose behaviour they have.
const Version = "v1.37.2"

// Config of a node.
type Config struct {
	// Name is the Node object's; the machine's host name in lower case when empty.
	Name string
	// DataDir is this node's own folder: the private containerd, volumes, logs.
	DataDir string
	API     apiclient.Config
	// Runtime is auto, containerd or simulated; empty means auto.
	Runtime string
	// RuntimeEndpoint is the socket of a CRI runtime that runs already, to be used instead of a private containerd.
	RuntimeEndpoint string
	// PodCIDR is the network of this node's pods; when empty a free /24 is chosen once and kept in the data folder.
	PodCIDR string
	// NodeIP is the node's address; found out when empty.
	NodeIP string
	// RegistryMirrors are HOST=URL, for the private containerd: "docker.io=http://127.0.0.1:5000".
	RegistryMirrors []string
	// SandboxImage replaces the built-in pause image.
	SandboxImage string
	Labels       map[string]string
	// ClusterDNS are the name servers of pods with dnsPolicy ClusterFirst; the machine's when empty.
	ClusterDNS    []string
	ClusterDomain string
	// MaxPods is how many pods the node takes; 110 when 0.
	MaxPods int
	// KeepPods leaves pods and the private containerd running when Run returns, for the next start to take over. Otherwise all is taken
	// down.
	KeepPods bool
	// Simulate runs this many hollow nodes, NAME-0 to NAME-(N-1), with simulated containers and one connection, instead of one node.
	Simulate int

	Clock  clock.WithTicker
	Logger *slog.Logger
}

func (c *Config) complete() error {
	var errs []error
	if c.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			errs = append(errs, fmt.Errorf("no node name given, and the machine does not tell its own: %w", err))
		}
		c.Name = strings.ToLower(host)
	}
	for _, problem := range validation.IsDNS1123Subdomain(c.Name) {
		errs = append(errs, fmt.Errorf("node name %q: %s", c.Name, problem))
	}
	if len(c.API.Addresses) == 0 {
		errs = append(errs, errors.New("no api address given: name at least one host:port"))
	}
	if c.Simulate < 0 {
		errs = append(errs, fmt.Errorf("%d simulated nodes: want 0 or more", c.Simulate))
	}
	if c.Simulate > 0 {
		c.Runtime = RuntimeSimulated
	}
	switch c.Runtime {
	case "":
		c.Runtime = RuntimeAuto
	case RuntimeAuto, RuntimeContainerd, RuntimeSimulated:
	default:
		errs = append(errs, fmt.Errorf("runtime %q: want auto, containerd or simulated", c.Runtime))
	}
	if c.RuntimeEndpoint != "" && c.Runtime == RuntimeSimulated {
		errs = append(errs, errors.New("a runtime endpoint and simulated containers exclude each other"))
	}
	if err := containerd.CheckMirrors(c.RegistryMirrors); err != nil {
		errs = append(errs, err)
	}
	if c.PodCIDR != "" {
		if prefix, err := netip.ParsePrefix(c.PodCIDR); err != nil || !prefix.Addr().Is4() || prefix.Bits() > 30 {
			errs = append(errs, fmt.Errorf("pod CIDR %q: want an IPv4 network such as 10.244.1.0/24", c.PodCIDR))
		}
	}
	if c.NodeIP != "" {
		if _, err := netip.ParseAddr(c.NodeIP); err != nil {
			errs = append(errs, fmt.Errorf("node IP %q is not an address", c.NodeIP))
		}
	}
	if c.DataDir == "" && c.Simulate == 0 {
		errs = append(errs, errors.New("no data folder given"))
	} else if c.DataDir != "" {
		dir, err := filepath.Abs(c.DataDir)
		if err != nil {
			errs = append(errs, err)
		}
		c.DataDir = dir
	}
	if c.ClusterDomain == "" {
		c.ClusterDomain = "cluster.local"
	}
	if c.MaxPods == 0 {
		c.MaxPods = 110
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return nil
}

// AutoRuntime is what the runtime auto stands for on this machine: containerd, or simulated with the reason why.
func AutoRuntime() (runtime, reason string) {
	if err := containerd.Check(); err != nil {
		return RuntimeSimulated, err.Error()
	}
	return RuntimeContainerd, ""
}
