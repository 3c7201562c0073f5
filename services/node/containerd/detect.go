package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// searchPath holds the system folders too, which a user's PATH may lack.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// cniDirs are where distributions put the CNI plugins.
var cniDirs = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}

// machine is what this machine has and allows.
type machine struct {
	containerd, ctr, runc string
	cniDir                string
	// iptables tells that NAT rules can be made; without it pods have neither host ports nor a way out of the machine.
	iptables bool
	// forwardDrops tells that the machine's FORWARD policy drops what no rule accepts, as Docker sets it.
	forwardDrops bool
	snapshotter  string
	// fixedOOMScore tells that oom_score_adj cannot be lowered.
	fixedOOMScore bool
}

// Check tells whether a private containerd can run here: nil, or an error that names what is missing and the package that has it.
func Check() error {
	_, err := detectPrograms()
	return err
}

func detectPrograms() (machine, error) {
	if os.Geteuid() != 0 {
		return machine{}, errors.New("containers need root: run as root, or choose simulated containers")
	}
	m := machine{}
	for _, program := range []struct {
		into           *string
		name, package_ string
	}{{&m.containerd, "containerd", "containerd"}, {&m.ctr, "ctr", "containerd"}, {&m.runc, "runc", "runc"}} {
		path, err := find(program.name)
		if err != nil {
			return machine{}, fmt.Errorf("%s is not installed: apt-get install %s", program.name, program.package_)
		}
		*program.into = path
	}
	for _, dir := range cniDirs {
		if hasPlugins(dir) {
			m.cniDir = dir
			break
		}
	}
	if m.cniDir == "" {
		return machine{}, fmt.Errorf("the CNI plugins bridge, host-local, loopback and portmap are in none of %s: apt-get install containernetworking-plugins", strings.Join(cniDirs, ", "))
	}
	return m, nil
}

// detect looks at everything; dir is where containerd will keep its files.
func detect(ctx context.Context, dir string) (machine, error) {
	m, err := detectPrograms()
	if err != nil {
		return machine{}, err
	}
	if iptables, err := find("iptables"); err == nil {
		m.iptables = exec.CommandContext(ctx, iptables, "-w", "5", "-t", "nat", "-S", "POSTROUTING").Run() == nil
		out, err := exec.CommandContext(ctx, iptables, "-w", "5", "-S", "FORWARD").Output()
		m.forwardDrops = err == nil && strings.HasPrefix(string(out), "-P FORWARD DROP")
	}
	m.snapshotter = "overlayfs"
	if err := tryOverlay(dir); err != nil {
		m.snapshotter = "native"
	}
	m.fixedOOMScore = !canLowerOOMScore()
	return m, nil
}

func find(program string) (string, error) {
	for _, dir := range filepath.SplitList(searchPath) {
		path := filepath.Join(dir, program)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return exec.LookPath(program)
}

func hasPlugins(dir string) bool {
	for _, plugin := range []string{"bridge", "host-local", "loopback", "portmap"} {
		if _, err := os.Stat(filepath.Join(dir, plugin)); err != nil {
			return false
		}
	}
	return true
}

// tryOverlay mounts an overlay in dir: it fails inside containers and on file systems that cannot hold its upper layer.
func tryOverlay(dir string) error {
	work, err := os.MkdirTemp(dir, "overlay-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, sub := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(work, sub), 0o755); err != nil {
			return err
		}
	}
	merged := filepath.Join(work, "merged")
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", work)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return err
	}
	return unix.Unmount(merged, unix.MNT_DETACH)
}

// canLowerOOMScore tries, and puts the old value back.
func canLowerOOMScore() bool {
	const file = "/proc/self/oom_score_adj"
	raw, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	old := strings.TrimSpace(string(raw))
	score, err := strconv.Atoi(old)
	if err != nil || os.WriteFile(file, []byte(strconv.Itoa(max(-1000, score-1))), 0) != nil {
		return false
	}
	return os.WriteFile(file, []byte(old), 0) == nil
}
