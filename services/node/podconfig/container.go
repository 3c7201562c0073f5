package podconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/orrery-io/orrery/services/node/cri"
)

// ContainerInput is what a container's configuration is made of.
type ContainerInput struct {
	Pod       *corev1.Pod
	Container *corev1.Container
	// Attempt is the restart count of the instance.
	Attempt int32
	// ImageRef is what the pull returned, Image what the runtime says of it.
	ImageRef string
	Image    *runtimeapi.Image
	PodIPs   []string
	// Volumes maps volume names to folders or files of the host.
	Volumes map[string]string
}

// Hash changes when a running container must be replaced: with its name or image, which alone may change in a pod.
func Hash(container *corev1.Container) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q", container.Name, container.Image)
	return strconv.FormatUint(uint64(h.Sum32()), 16)
}

// Container is the configuration of one instance of a container. Errors are what kubectl shows as CreateContainerConfigError.
func (h Host) Container(ctx context.Context, sources Sources, in ContainerInput) (*runtimeapi.ContainerConfig, error) {
	pod, c := in.Pod, in.Container
	env, err := h.environment(ctx, sources, pod, c, in.PodIPs)
	if err != nil {
		return nil, err
	}
	security, err := containerSecurity(pod, c, in.Image)
	if err != nil {
		return nil, err
	}
	mounts, err := h.mounts(in, env)
	if err != nil {
		return nil, err
	}
	out := &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: uint32(in.Attempt)},
		Image:       &runtimeapi.ImageSpec{Image: in.ImageRef, UserSpecifiedImage: c.Image},
		Command:     expandAll(c.Command, env),
		Args:        expandAll(c.Args, env),
		WorkingDir:  c.WorkingDir,
		Envs:        env.list(),
		Mounts:      mounts,
		LogPath:     LogFile(c.Name, in.Attempt),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		Labels:      map[string]string{cri.LabelPodName: pod.Name, cri.LabelPodNamespace: pod.Namespace, cri.LabelPodUID: string(pod.UID), cri.LabelContainerName: c.Name},
		Annotations: h.annotations(in),
		Linux:       &runtimeapi.LinuxContainerConfig{Resources: h.resources(pod, c), SecurityContext: security},
	}
	if !pod.Spec.HostNetwork {
		hostname, _ := h.hostname(pod)
		out.Envs = append([]*runtimeapi.KeyValue{{Key: "HOSTNAME", Value: []byte(hostname)}}, out.Envs...)
	}
	if h.Dir != "" {
		if err := os.MkdirAll(filepath.Join(h.LogDir(pod.Namespace, pod.Name, pod.UID), c.Name), 0o755); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (h Host) annotations(in ContainerInput) map[string]string {
	out := map[string]string{
		cri.AnnotationHash: Hash(in.Container), cri.AnnotationRestartCount: strconv.Itoa(int(in.Attempt)),
		cri.AnnotationMessagePath: in.Container.TerminationMessagePath, cri.AnnotationMessagePolicy: string(in.Container.TerminationMessagePolicy),
	}
	if grace := in.Pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		out[cri.AnnotationGracePeriod] = strconv.FormatInt(*grace, 10)
	}
	if l := in.Container.Lifecycle; l != nil && l.PreStop != nil {
		// An agent that finds the container when the pod is gone from the api still knows how to stop it.
		if hook, err := json.Marshal(l.PreStop); err == nil {
			out[cri.AnnotationPreStopHandler] = string(hook)
		}
	}
	return out
}

func expandAll(list []string, env *environment) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = Expand(s, env.lookup)
	}
	return out
}

// MessageFile is the file that the container sees at its terminationMessagePath.
func (h Host) MessageFile(in ContainerInput) string {
	return filepath.Join(h.PodDir(in.Pod.UID), "containers", in.Container.Name, strconv.Itoa(int(in.Attempt))+".message")
}

func (h Host) mounts(in ContainerInput, env *environment) ([]*runtimeapi.Mount, error) {
	if h.Dir == "" {
		return nil, nil
	}
	var out []*runtimeapi.Mount
	own := map[string]bool{}
	for _, m := range in.Container.VolumeMounts {
		source, ok := in.Volumes[m.Name]
		if !ok {
			return nil, fmt.Errorf("volumeMount %q of container %s has no volume", m.Name, in.Container.Name)
		}
		sub := m.SubPath
		if m.SubPathExpr != "" {
			var unknown string
			sub = Expand(m.SubPathExpr, func(name string) (string, bool) {
				value, ok := env.lookup(name)
				if !ok {
					unknown = name
				}
				return value, ok
			})
			if unknown != "" {
				return nil, fmt.Errorf("subPathExpr %q of container %s needs the variable %s, which is not set", m.SubPathExpr, in.Container.Name, unknown)
			}
		}
		if sub != "" {
			path, err := subPath(source, sub)
			if err != nil {
				return nil, fmt.Errorf("failed to prepare subPath for volumeMount %q of container %q: %w", m.Name, in.Container.Name, err)
			}
			source = path
		}
		out = append(out, &runtimeapi.Mount{ContainerPath: absolute(m.MountPath), HostPath: source, Readonly: m.ReadOnly, Propagation: propagation(m.MountPropagation)})
		own[absolute(m.MountPath)] = true
	}
	if !own["/etc/hosts"] && !in.Pod.Spec.HostNetwork {
		hosts := filepath.Join(h.PodDir(in.Pod.UID), "etc-hosts")
		if err := h.writeHosts(hosts, in.Pod, in.PodIPs); err != nil {
			return nil, err
		}
		out = append(out, &runtimeapi.Mount{ContainerPath: "/etc/hosts", HostPath: hosts})
	}
	if path := in.Container.TerminationMessagePath; path != "" && !own[absolute(path)] {
		file := h.MessageFile(in)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			return nil, err
		}
		// The umask must not keep a user other than root from writing.
		if err := os.Chmod(file, 0o666); err != nil {
			return nil, err
		}
		out = append(out, &runtimeapi.Mount{ContainerPath: absolute(path), HostPath: file})
	}
	return out, nil
}

func absolute(path string) string { return filepath.Clean("/" + path) }

func propagation(mode *corev1.MountPropagationMode) runtimeapi.MountPropagation {
	switch {
	case mode != nil && *mode == corev1.MountPropagationHostToContainer:
		return runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER
	case mode != nil && *mode == corev1.MountPropagationBidirectional:
		return runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL
	}
	return runtimeapi.MountPropagation_PROPAGATION_PRIVATE
}

// subPath finds or makes a folder inside a volume. Symbolic links in the volume must not lead out of it.
func subPath(volume, sub string) (string, error) {
	root, err := os.OpenRoot(volume)
	if err != nil {
		return "", err
	}
	defer root.Close()
	sub = filepath.Clean(sub)
	if _, err := root.Stat(sub); os.IsNotExist(err) {
		if err := root.MkdirAll(sub, 0o750); err != nil {
			return "", err
		}
	} else if err != nil {
		return "", err
	}
	// The runtime gets a path without links, so that it mounts what was looked at here.
	path, err := filepath.EvalSymlinks(filepath.Join(volume, sub))
	if err != nil {
		return "", err
	}
	base, err := filepath.EvalSymlinks(volume)
	if err != nil {
		return "", err
	}
	if path != base && !strings.HasPrefix(path, base+"/") {
		return "", fmt.Errorf("%s leads out of the volume", sub)
	}
	return path, nil
}

// writeHosts makes the pod's hosts(5) file.
func (h Host) writeHosts(file string, pod *corev1.Pod, ips []string) error {
	var b strings.Builder
	b.WriteString("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
	host, full := h.hostname(pod)
	for _, ip := range ips {
		if full != "" && full != host {
			fmt.Fprintf(&b, "%s\t%s\t%s\n", ip, full, host)
		} else {
			fmt.Fprintf(&b, "%s\t%s\n", ip, host)
		}
	}
	if len(pod.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
		for _, alias := range pod.Spec.HostAliases {
			fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
