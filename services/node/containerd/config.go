package containerd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/orrery-io/orrery/services/internal/images/pause"
	"github.com/orrery-io/orrery/services/node/network"
)

// Config of a private containerd.
type Config struct {
	// Dir holds everything of it; made when missing.
	Dir string
	// PodSubnet is the network of the node's pods.
	PodSubnet netip.Prefix
	// RegistryMirrors are HOST=URL: HOST's images are pulled from the URLs given for it, in order, and from nowhere else ("docker.io=http://127.0.0.1:5000").
	RegistryMirrors []string
	// SandboxImage replaces the built-in pause image; it is pulled when missing.
	SandboxImage string
	Logger       *slog.Logger
}

// paths are the places inside Dir.
type paths struct{ dir string }

func (p paths) root() string     { return filepath.Join(p.dir, "root") }
func (p paths) state() string    { return filepath.Join(p.dir, "state") }
func (p paths) socket() string   { return filepath.Join(p.dir, "containerd.sock") }
func (p paths) config() string   { return filepath.Join(p.dir, "config.toml") }
func (p paths) pid() string      { return filepath.Join(p.dir, "containerd.pid") }
func (p paths) log() string      { return filepath.Join(p.dir, "containerd.log") }
func (p paths) certs() string    { return filepath.Join(p.dir, "certs.d") }
func (p paths) cniConf() string  { return filepath.Join(p.dir, "cni", "net.d") }
func (p paths) cniState() string { return filepath.Join(p.dir, "cni", "ipam") }
func (p paths) bridge() string   { return network.BridgeName(p.dir) }

// networkName is the CNI network's, unique on the machine because plugins keep state by it.
func (p paths) networkName() string { return "orrery-" + strings.TrimPrefix(p.bridge(), "orr") }

// configTemplate turns off what a node never uses: containerd starts faster and smaller.
var configTemplate = template.Must(template.New("config.toml").Funcs(template.FuncMap{"q": quote}).Parse(`# Written by orrery at every start; changes are lost.
version = 2
root = {{q .Root}}
state = {{q .State}}
oom_score = 0
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt", "io.containerd.internal.v1.restart", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.nri.v1.nri",
]

[grpc]
  address = {{q .Socket}}

[debug]
  level = "warn"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = {{q .SandboxImage}}
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  enable_unprivileged_ports = true
  enable_unprivileged_icmp = true
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = {{.FixedOOMScore}}
  tolerate_missing_hugetlb_controller = true
  max_container_log_line_size = 16384

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = {{q .CNIBin}}
    conf_dir = {{q .CNIConf}}
    max_conf_num = 1

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = {{q .Snapshotter}}
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = {{q .Runc}}
        Root = {{q .RuncRoot}}
        SystemdCgroup = false

  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = {{q .Certs}}
`))

func quote(s string) string {
	b, _ := json.Marshal(s) // a TOML basic string is a JSON string for all that paths and image names hold
	return string(b)
}

// write makes the folders and all configuration files. changed tells that config.toml differs from what was there before.
func (c Config) write(m machine) (changed bool, err error) {
	p := paths{c.Dir}
	for _, dir := range []string{p.root(), p.state(), p.certs(), p.cniConf(), p.cniState()} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return false, err
		}
	}
	image := c.SandboxImage
	if image == "" {
		image = pause.Reference
	}
	var b bytes.Buffer
	err = configTemplate.Execute(&b, map[string]any{
		"Root": p.root(), "State": p.state(), "Socket": p.socket(), "SandboxImage": image, "FixedOOMScore": m.fixedOOMScore, "CNIBin": m.cniDir, "CNIConf": p.cniConf(),
		"Snapshotter": m.snapshotter, "Runc": m.runc, "RuncRoot": filepath.Join(p.state(), "runc"), "Certs": p.certs()})
	if err != nil {
		return false, err
	}
	old, err := os.ReadFile(p.config())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if changed = !bytes.Equal(old, b.Bytes()); changed {
		if err := os.WriteFile(p.config(), b.Bytes(), 0o644); err != nil {
			return false, err
		}
	}
	if err := c.writeMirrors(); err != nil {
		return false, err
	}
	return changed, c.writeNetwork(m)
}

// parseMirror splits HOST=URL.
func parseMirror(mirror string) (host, target string, err error) {
	host, target, ok := strings.Cut(mirror, "=")
	u, err := url.Parse(target)
	if !ok || host == "" || strings.ContainsAny(host, "/\\") || err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", "", fmt.Errorf("registry mirror %q is not HOST=URL, as in docker.io=http://127.0.0.1:5000", mirror)
	}
	return host, target, nil
}

// CheckMirrors tells what is wrong with the first malformed registry mirror, if any.
func CheckMirrors(mirrors []string) error {
	for _, mirror := range mirrors {
		if _, _, err := parseMirror(mirror); err != nil {
			return err
		}
	}
	return nil
}

// writeMirrors makes one folder with a hosts.toml per registry, which containerd reads at every pull.
func (c Config) writeMirrors() error {
	certs := paths{c.Dir}.certs()
	if err := os.RemoveAll(certs); err != nil {
		return err
	}
	if err := os.MkdirAll(certs, 0o755); err != nil {
		return err
	}
	mirrors := map[string][]string{}
	var order []string
	for _, mirror := range c.RegistryMirrors {
		host, target, err := parseMirror(mirror)
		if err != nil {
			return err
		}
		if mirrors[host] == nil {
			order = append(order, host)
		}
		mirrors[host] = append(mirrors[host], target)
	}
	for _, host := range order {
		var b strings.Builder
		// Without a server of its own the last mirror stands in for the registry: what no mirror has does not exist.
		fmt.Fprintf(&b, "server = %s\n", quote(mirrors[host][len(mirrors[host])-1]))
		for _, target := range mirrors[host] {
			fmt.Fprintf(&b, "\n[host.%s]\n  capabilities = [\"pull\", \"resolve\"]\n", quote(target))
		}
		dir := filepath.Join(certs, host)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeNetwork makes the CNI configuration: a bridge of the node's own, addresses from its subnet, and host ports.
func (c Config) writeNetwork(m machine) error {
	p := paths{c.Dir}
	plugins := []map[string]any{{
		"type": "bridge", "bridge": p.bridge(), "isGateway": true, "ipMasq": m.iptables, "hairpinMode": true,
		"ipam": map[string]any{
			"type": "host-local", "dataDir": p.cniState(),
			"ranges": [][]map[string]string{{{"subnet": c.PodSubnet.String()}}},
			"routes": []map[string]string{{"dst": "0.0.0.0/0"}},
		},
	}}
	if m.iptables {
		plugins = append(plugins, map[string]any{"type": "portmap", "capabilities": map[string]bool{"portMappings": true}, "snat": true})
	}
	if m.forwardDrops {
		plugins = append(plugins, map[string]any{"type": "firewall"})
	}
	conf, err := json.MarshalIndent(map[string]any{"cniVersion": "1.0.0", "name": p.networkName(), "plugins": plugins}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.cniConf(), "10-orrery.conflist"), append(conf, '\n'), 0o644)
}
