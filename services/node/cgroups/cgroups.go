// Package cgroups keeps the control groups of pods: one per pod, with the sum of its containers' requests and limits, below one per node.
//
// One idea: the runtime makes the containers' groups inside; this package makes and removes those above, which the runtime leaves behind. It
// works on both versions of cgroups: with one tree per controller (v1), and with one tree for all (v2).
package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"

	"github.com/orrery-io/orrery/services/node/podconfig"
)

// Manager makes and removes groups below Root, "/orrery-1a2b".
type Manager struct {
	mount string
	root  string
	v2    bool
}

// New makes a Manager; root is the group of all pods of the node. mount is where cgroups are mounted; empty means /sys/fs/cgroup.
func New(mount, root string) *Manager {
	if mount == "" {
		mount = "/sys/fs/cgroup"
	}
	_, err := os.Stat(filepath.Join(mount, "cgroup.controllers"))
	return &Manager{mount: mount, root: root, v2: err == nil}
}

func (m *Manager) group(uid types.UID) string { return filepath.Join(m.root, "pod"+string(uid)) }

// Ensure makes the pod's group and sets what its containers may use together.
func (m *Manager) Ensure(pod *corev1.Pod) error {
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	limits := resource.PodLimits(pod, resource.PodResourcesOptions{})
	shares := podconfig.CPUShares(requests.Cpu().MilliValue())
	// A limit holds for the pod only when every container has one.
	var quota, memory int64
	if everyContainerLimits(pod, corev1.ResourceCPU) {
		quota = podconfig.CPUQuota(limits.Cpu().MilliValue())
	}
	if everyContainerLimits(pod, corev1.ResourceMemory) {
		memory = limits.Memory().Value()
	}
	group := m.group(pod.UID)
	if m.v2 {
		return m.ensureV2(group, shares, quota, memory)
	}
	settings := map[string]map[string]string{"cpu": {"cpu.shares": strconv.FormatInt(shares, 10)}, "memory": {}}
	if quota > 0 {
		settings["cpu"]["cpu.cfs_quota_us"] = strconv.FormatInt(quota, 10)
	}
	if memory > 0 {
		settings["memory"]["memory.limit_in_bytes"] = strconv.FormatInt(memory, 10)
	}
	for controller, files := range settings {
		dir := filepath.Join(m.mount, controller, group)
		if _, err := os.Stat(filepath.Join(m.mount, controller)); errors.Is(err, fs.ErrNotExist) {
			continue // not mounted: nothing to limit by
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the pod's cgroup: %w", err)
		}
		for file, value := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil {
				return fmt.Errorf("setting %s of the pod's cgroup: %w", file, err)
			}
		}
	}
	return nil
}

func (m *Manager) ensureV2(group string, shares, quota, memory int64) error {
	dir := m.mount
	parts := strings.Split(strings.Trim(group, "/"), "/")
	for i, part := range parts {
		if i > 0 || dir == m.mount {
			// A child has a controller only if its parent hands it down. Where that is refused the pod runs without that limit.
			for _, controller := range []string{"+cpu", "+memory", "+pids", "+cpuset", "+io"} {
				_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte(controller), 0o644)
			}
		}
		dir = filepath.Join(dir, part)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the pod's cgroup: %w", err)
		}
	}
	// Shares of 2 to 262144 map to weights of 1 to 10000, as the runtimes do it.
	files := map[string]string{"cpu.weight": strconv.FormatInt(1+((shares-2)*9999)/262142, 10)}
	if quota > 0 {
		files["cpu.max"] = fmt.Sprintf("%d 100000", quota)
	}
	if memory > 0 {
		files["memory.max"] = strconv.FormatInt(memory, 10)
	}
	for file, value := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("setting %s of the pod's cgroup: %w", file, err)
		}
	}
	return nil
}

func everyContainerLimits(pod *corev1.Pod, name corev1.ResourceName) bool {
	for _, c := range pod.Spec.Containers {
		if _, ok := c.Resources.Limits[name]; !ok {
			return false
		}
	}
	return len(pod.Spec.Containers) > 0
}

// Remove takes away the pod's group and what is in it; its processes must be gone.
func (m *Manager) Remove(uid types.UID) error { return m.remove(m.group(uid)) }

// RemoveAll takes away the node's group.
func (m *Manager) RemoveAll() error { return m.remove(m.root) }

// Pods lists the pods that have groups.
func (m *Manager) Pods() []types.UID {
	seen := map[types.UID]bool{}
	for _, tree := range m.trees() {
		entries, err := os.ReadDir(filepath.Join(tree, m.root))
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if uid, ok := strings.CutPrefix(entry.Name(), "pod"); ok && entry.IsDir() {
				seen[types.UID(uid)] = true
			}
		}
	}
	out := make([]types.UID, 0, len(seen))
	for uid := range seen {
		out = append(out, uid)
	}
	return out
}

func (m *Manager) trees() []string {
	if m.v2 {
		return []string{m.mount}
	}
	entries, err := os.ReadDir(m.mount)
	if err != nil {
		return nil
	}
	var out []string
	for _, entry := range entries {
		out = append(out, filepath.Join(m.mount, entry.Name()))
	}
	return out
}

func (m *Manager) remove(group string) error {
	var errs []error
	for _, tree := range m.trees() {
		var dirs []string
		_ = filepath.WalkDir(filepath.Join(tree, group), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		slices.Reverse(dirs) // children before parents
		for _, dir := range dirs {
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}
