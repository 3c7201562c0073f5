package podconfig

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Paths of /proc and /sys that show or change the host; a container with procMount Unmasked or privileged sees them.
var (
	maskedPaths = []string{"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list", "/proc/timer_stats",
		"/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap"}
	readonlyPaths = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

func namespaces(pod *corev1.Pod) *runtimeapi.NamespaceOption {
	out := &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_POD, Pid: runtimeapi.NamespaceMode_CONTAINER, Ipc: runtimeapi.NamespaceMode_POD}
	if pod.Spec.HostNetwork {
		out.Network = runtimeapi.NamespaceMode_NODE
	}
	if pod.Spec.HostIPC {
		out.Ipc = runtimeapi.NamespaceMode_NODE
	}
	switch {
	case pod.Spec.HostPID:
		out.Pid = runtimeapi.NamespaceMode_NODE
	case isTrue(pod.Spec.ShareProcessNamespace):
		out.Pid = runtimeapi.NamespaceMode_POD
	}
	return out
}

// sandboxSecurity is the part that all containers of the pod share.
func sandboxSecurity(pod *corev1.Pod) *runtimeapi.LinuxSandboxSecurityContext {
	out := &runtimeapi.LinuxSandboxSecurityContext{NamespaceOptions: namespaces(pod), Seccomp: seccomp(pod.Spec.SecurityContext, nil)}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range list {
			if c.SecurityContext != nil && isTrue(c.SecurityContext.Privileged) {
				out.Privileged = true
			}
		}
	}
	if s := pod.Spec.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			out.RunAsUser = &runtimeapi.Int64Value{Value: *s.RunAsUser}
		}
		if s.RunAsGroup != nil && s.RunAsUser != nil {
			out.RunAsGroup = &runtimeapi.Int64Value{Value: *s.RunAsGroup}
		}
		out.SupplementalGroups = supplementalGroups(s)
	}
	return out
}

func supplementalGroups(s *corev1.PodSecurityContext) []int64 {
	groups := append([]int64(nil), s.SupplementalGroups...)
	if s.FSGroup != nil {
		groups = append(groups, *s.FSGroup)
	}
	return groups
}

// containerSecurity merges the container's settings over the pod's. image tells which user the image wants.
func containerSecurity(pod *corev1.Pod, container *corev1.Container, image *runtimeapi.Image) (*runtimeapi.LinuxContainerSecurityContext, error) {
	p, c := pod.Spec.SecurityContext, container.SecurityContext
	if p == nil {
		p = &corev1.PodSecurityContext{}
	}
	if c == nil {
		c = &corev1.SecurityContext{}
	}
	pick := func(own, shared *int64) *int64 {
		if own != nil {
			return own
		}
		return shared
	}
	user, group := pick(c.RunAsUser, p.RunAsUser), pick(c.RunAsGroup, p.RunAsGroup)
	nonRoot := p.RunAsNonRoot
	if c.RunAsNonRoot != nil {
		nonRoot = c.RunAsNonRoot
	}
	if isTrue(nonRoot) {
		if err := checkNonRoot(pod, container, user, image); err != nil {
			return nil, err
		}
	}
	privileged := isTrue(c.Privileged)
	out := &runtimeapi.LinuxContainerSecurityContext{
		Privileged: privileged, NamespaceOptions: namespaces(pod), ReadonlyRootfs: isTrue(c.ReadOnlyRootFilesystem), SupplementalGroups: supplementalGroups(p),
		Seccomp: seccomp(p, c), MaskedPaths: maskedPaths, ReadonlyPaths: readonlyPaths,
		NoNewPrivs: c.AllowPrivilegeEscalation != nil && !*c.AllowPrivilegeEscalation,
	}
	if privileged || c.ProcMount != nil && *c.ProcMount == corev1.UnmaskedProcMount {
		out.MaskedPaths, out.ReadonlyPaths = nil, nil
	}
	if privileged {
		out.Seccomp = &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}
	}
	switch {
	case user != nil:
		out.RunAsUser = &runtimeapi.Int64Value{Value: *user}
	case image.GetUid() != nil:
		out.RunAsUser = &runtimeapi.Int64Value{Value: image.GetUid().Value}
	default:
		out.RunAsUsername = image.GetUsername()
	}
	if group != nil {
		out.RunAsGroup = &runtimeapi.Int64Value{Value: *group}
		if out.RunAsUser == nil && out.RunAsUsername == "" {
			out.RunAsUser = &runtimeapi.Int64Value{}
		}
	}
	if c.Capabilities != nil {
		out.Capabilities = &runtimeapi.Capability{}
		for _, name := range c.Capabilities.Add {
			out.Capabilities.AddCapabilities = append(out.Capabilities.AddCapabilities, string(name))
		}
		for _, name := range c.Capabilities.Drop {
			out.Capabilities.DropCapabilities = append(out.Capabilities.DropCapabilities, string(name))
		}
	}
	return out, nil
}

func checkNonRoot(pod *corev1.Pod, container *corev1.Container, user *int64, image *runtimeapi.Image) error {
	where := fmt.Sprintf("(pod: %q, container: %s)", pod.Name+"_"+pod.Namespace+"("+string(pod.UID)+")", container.Name)
	switch {
	case user != nil && *user == 0:
		return fmt.Errorf("container's runAsUser breaks non-root policy %s", where)
	case user != nil:
		return nil
	case image.GetUid() != nil && image.GetUid().Value == 0, image.GetUid() == nil && image.GetUsername() == "":
		return fmt.Errorf("container has runAsNonRoot and image will run as root %s", where)
	case image.GetUid() == nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", image.GetUsername(), where)
	}
	return nil
}

// seccomp picks the container's profile over the pod's; without any a container is unconfined.
func seccomp(p *corev1.PodSecurityContext, c *corev1.SecurityContext) *runtimeapi.SecurityProfile {
	var profile *corev1.SeccompProfile
	if p != nil {
		profile = p.SeccompProfile
	}
	if c != nil && c.SeccompProfile != nil {
		profile = c.SeccompProfile
	}
	switch {
	case profile != nil && profile.Type == corev1.SeccompProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}
	case profile != nil && profile.Type == corev1.SeccompProfileTypeLocalhost && profile.LocalhostProfile != nil:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: "/var/lib/kubelet/seccomp/" + *profile.LocalhostProfile}
	}
	return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}
}
