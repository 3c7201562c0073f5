package containerd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/orrery-io/orrery/services/node/cri"
)

// cniResults is where the CNI library keeps a file per attached sandbox, named after the network.
const cniResults = "/var/lib/cni/results"

// Remove stops and removes all pods, ends containerd, and clears away what it has on the machine outside Dir: shims, mounts, network
// namespaces, the bridge. Dir itself stays, with the images in it.
func (d *Daemon) Remove(ctx context.Context) error {
	d.stop()
	<-d.done
	err := removePods(ctx, d.client)
	d.client.Close()
	return errors.Join(err, d.clear(ctx))
}

// Remove does what Daemon.Remove does for the folder of a containerd whose agent is gone.
func Remove(ctx context.Context, dir string, logger *slog.Logger) error {
	if logger == nil {
		logger = slog.Default()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	p := paths{dir}
	if _, err := os.Stat(p.config()); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	m, err := detectPrograms()
	if err != nil {
		return err
	}
	client, err := cri.Dial(p.socket())
	if err != nil {
		return err
	}
	d := &Daemon{config: Config{Dir: dir, Logger: logger}, machine: m, paths: p, client: client, logger: logger}
	running, ok := readProcess(p.pid())
	if !ok {
		if running, err = d.spawn(); err != nil {
			client.Close()
			return errors.Join(err, d.clear(ctx))
		}
	}
	d.current = running
	if err = d.becomeReady(ctx); err == nil {
		err = removePods(ctx, client)
	}
	client.Close()
	return errors.Join(err, d.clear(ctx))
}

// removePods ends every pod at once: its owner had its chance to end it gently.
func removePods(ctx context.Context, client *cri.Client) error {
	sandboxes, err := client.ListPodSandboxes(ctx, nil)
	if err != nil {
		return fmt.Errorf("containerd: listing pods to remove: %w", err)
	}
	errs := make([]error, len(sandboxes))
	var group sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, sandbox := range sandboxes {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if err := client.StopPodSandbox(ctx, sandbox.Id); err != nil {
				errs[i] = fmt.Errorf("stopping pod %s: %w", sandbox.GetMetadata().GetName(), err)
				return
			}
			errs[i] = client.RemovePodSandbox(ctx, sandbox.Id)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// clear ends the processes and takes away mounts and devices, in this order: each holds the next.
func (d *Daemon) clear(ctx context.Context) error {
	errs := []error{d.current.end(ctx, 10*time.Second)}
	for _, shim := range processesWith("-address", d.paths.socket()) {
		d.logger.Warn("killing a container shim that was left", "pid", shim.pid)
		if err := unix.Kill(shim.pid, unix.SIGKILL); err == nil {
			errs = append(errs, shim.wait(ctx))
		}
	}
	errs = append(errs, d.deleteContainers(ctx), unmountBelow(d.paths.dir), deleteLink(d.paths.bridge()))
	leftovers, err := filepath.Glob(filepath.Join(cniResults, d.paths.networkName()+"-*"))
	errs = append(errs, err)
	for _, file := range leftovers {
		errs = append(errs, os.Remove(file))
	}
	for _, path := range []string{d.paths.state(), d.paths.cniState(), d.paths.pid(), d.paths.socket(), d.paths.socket() + ".ttrpc"} {
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}

// deleteContainers ends containers whose shim was killed.
func (d *Daemon) deleteContainers(ctx context.Context) error {
	root := filepath.Join(d.paths.state(), "runc", "k8s.io")
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // never had a container
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if out, err := exec.CommandContext(ctx, d.machine.runc, "--root", root, "delete", "--force", entry.Name()).CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("deleting container %s: %w: %s", entry.Name(), err, strings.TrimSpace(string(out))))
		}
	}
	return errors.Join(errs...)
}

// unmountBelow takes away every mount inside dir, the deepest first.
func unmountBelow(dir string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var mounts []string
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		fields := strings.Fields(scanner.Text())
		if len(fields) > 4 {
			if mount := unescape.Replace(fields[4]); strings.HasPrefix(mount, dir+"/") {
				mounts = append(mounts, mount)
			}
		}
	}
	slices.Reverse(mounts) // later mounts may lie on earlier ones
	var errs []error
	for _, mount := range mounts {
		if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			errs = append(errs, fmt.Errorf("unmounting %s: %w", mount, err))
		}
	}
	return errors.Join(errs...)
}

func deleteLink(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		var missing netlink.LinkNotFoundError
		if errors.As(err, &missing) {
			return nil
		}
		return err
	}
	if err := netlink.LinkDel(link); err != nil {
		return fmt.Errorf("deleting the network device %s: %w", name, err)
	}
	return nil
}
