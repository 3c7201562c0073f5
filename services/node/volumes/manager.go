package volumes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/node/podconfig"
)

// Manager makes and removes the volumes of pods.
type Manager struct {
	host    podconfig.Host
	sources podconfig.Sources
}

// New makes a Manager. When the host has no folder, volumes are checked but not made.
func New(host podconfig.Host, sources podconfig.Sources) *Manager {
	return &Manager{host: host, sources: sources}
}

func (m *Manager) dir(uid types.UID) string { return filepath.Join(m.host.PodDir(uid), "volumes") }

// Error says which volume could not be set up.
type Error struct {
	Volume string
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", e.Volume, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Ensure makes all volumes of the pod, brings those that come from the api up to date, and returns where each is. Errors are *Error.
func (m *Manager) Ensure(ctx context.Context, pod *corev1.Pod, podIPs []string) (map[string]string, error) {
	out := make(map[string]string, len(pod.Spec.Volumes))
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		path, err := m.ensure(ctx, pod, podIPs, v)
		if err != nil {
			return nil, &Error{v.Name, err}
		}
		out[v.Name] = path
	}
	return out, nil
}

// Refreshing tells whether the pod has volumes whose content follows objects of the api.
func Refreshing(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
	})
}

func (m *Manager) ensure(ctx context.Context, pod *corev1.Pod, podIPs []string, v *corev1.Volume) (string, error) {
	payload := map[string]file{}
	var kind string
	var err error
	switch {
	case v.EmptyDir != nil:
		return m.emptyDir(pod, v.Name, v.EmptyDir)
	case v.HostPath != nil:
		return m.hostPath(v.HostPath)
	case v.ConfigMap != nil:
		kind = "configmap"
		err = m.configMap(ctx, payload, pod.Namespace, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.DefaultMode, v.ConfigMap.Optional)
	case v.Secret != nil:
		kind = "secret"
		err = m.secret(ctx, payload, pod.Namespace, v.Secret.SecretName, v.Secret.Items, v.Secret.DefaultMode, v.Secret.Optional)
	case v.DownwardAPI != nil:
		kind = "downward-api"
		err = m.downward(payload, pod, podIPs, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		kind = "projected"
		err = m.projected(ctx, payload, pod, podIPs, v.Projected)
	default:
		return "", errors.New("this kind of volume is not supported by the node yet")
	}
	if err != nil || m.host.Dir == "" {
		return "", err
	}
	path := m.path(pod.UID, kind, v.Name)
	if kind == "secret" || kind == "projected" {
		// Secrets stay in memory.
		if err := mountMemory(path, "mode=0755"); err != nil {
			return "", err
		}
	}
	var group *int64
	if s := pod.Spec.SecurityContext; s != nil {
		group = s.FSGroup
	}
	_, err = writeAtomically(path, payload, group)
	return path, err
}

func (m *Manager) path(uid types.UID, kind, name string) string {
	return filepath.Join(m.dir(uid), "kubernetes.io~"+kind, name)
}

func (m *Manager) emptyDir(pod *corev1.Pod, name string, source *corev1.EmptyDirVolumeSource) (string, error) {
	if m.host.Dir == "" {
		return "", nil
	}
	path := m.path(pod.UID, "empty-dir", name)
	switch source.Medium {
	case corev1.StorageMediumDefault:
		if err := os.MkdirAll(path, 0o777); err != nil {
			return "", err
		}
	case corev1.StorageMediumMemory:
		options := "mode=0777"
		if source.SizeLimit != nil && source.SizeLimit.Value() > 0 {
			options += ",size=" + strconv.FormatInt(source.SizeLimit.Value(), 10)
		}
		if err := mountMemory(path, options); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("emptyDir medium %q is not supported", source.Medium)
	}
	mode := os.FileMode(0o777)
	if s := pod.Spec.SecurityContext; s != nil && s.FSGroup != nil {
		if err := os.Chown(path, -1, int(*s.FSGroup)); err != nil {
			return "", err
		}
		mode |= os.ModeSetgid
	}
	return path, os.Chmod(path, mode)
}

func (m *Manager) hostPath(source *corev1.HostPathVolumeSource) (string, error) {
	kind := corev1.HostPathUnset
	if source.Type != nil {
		kind = *source.Type
	}
	if m.host.Dir == "" || kind == corev1.HostPathUnset {
		return source.Path, nil
	}
	info, err := os.Stat(source.Path)
	if os.IsNotExist(err) {
		switch kind {
		case corev1.HostPathDirectoryOrCreate:
			return source.Path, os.MkdirAll(source.Path, 0o755)
		case corev1.HostPathFileOrCreate:
			f, err := os.OpenFile(source.Path, os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return "", err
			}
			return source.Path, f.Close()
		}
	}
	if err != nil {
		return "", fmt.Errorf("hostPath type check failed: %s is not a %s", source.Path, strings.ToLower(string(kind)))
	}
	mode := info.Mode()
	ok := true
	switch kind {
	case corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate:
		ok = mode.IsDir()
	case corev1.HostPathFile, corev1.HostPathFileOrCreate:
		ok = mode.IsRegular()
	case corev1.HostPathSocket:
		ok = mode&os.ModeSocket != 0
	case corev1.HostPathCharDev:
		ok = mode&os.ModeCharDevice != 0
	case corev1.HostPathBlockDev:
		ok = mode&os.ModeDevice != 0 && mode&os.ModeCharDevice == 0
	}
	if !ok {
		return "", fmt.Errorf("hostPath type check failed: %s is not a %s", source.Path, strings.ToLower(string(kind)))
	}
	return source.Path, nil
}

// mountMemory mounts a tmpfs, unless one is there.
func mountMemory(path, options string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err == nil && fs.Type == unix.TMPFS_MAGIC && isMount(path) {
		return nil
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", 0, options); err != nil {
		return fmt.Errorf("mounting memory at %s: %w", path, err)
	}
	return nil
}

// isMount tells whether something is mounted at path: then it is on another device than its parent.
func isMount(path string) bool {
	var own, parent unix.Stat_t
	return unix.Stat(path, &own) == nil && unix.Stat(filepath.Dir(path), &parent) == nil && own.Dev != parent.Dev
}

// Remove takes away the pod's folder with all volumes that are its own. Its containers must be gone.
func (m *Manager) Remove(uid types.UID) error {
	if m.host.Dir == "" {
		return nil
	}
	dir := m.host.PodDir(uid)
	if _, err := os.Lstat(dir); os.IsNotExist(err) {
		return nil
	}
	if err := unmountBelow(dir); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// Pods lists the pods that have a folder.
func (m *Manager) Pods() []types.UID {
	entries, err := os.ReadDir(filepath.Join(m.host.Dir, "pods"))
	if err != nil || m.host.Dir == "" {
		return nil
	}
	out := make([]types.UID, 0, len(entries))
	for _, entry := range entries {
		out = append(out, types.UID(entry.Name()))
	}
	return out
}

// unmountBelow takes away the mounts inside dir. Anything still mounted would have its content deleted with the folder, so that is an error.
func unmountBelow(dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var mounts []string
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		if fields := strings.Fields(scanner.Text()); len(fields) > 4 {
			if mount := unescape.Replace(fields[4]); strings.HasPrefix(mount, dir+"/") {
				mounts = append(mounts, mount)
			}
		}
	}
	slices.Reverse(mounts)
	for _, mount := range mounts {
		if err := unix.Unmount(mount, 0); err != nil {
			return fmt.Errorf("unmounting %s: %w", mount, err)
		}
	}
	return nil
}
