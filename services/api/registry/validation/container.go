package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// containerScope is what containers refer to in their pod, and the names that are taken in it.
type containerScope struct {
	volumes     map[string]corev1.VolumeSource
	claims      sets.Set[string]
	gracePeriod int64
	names       sets.Set[string]
}

func (s *containerScope) containers(list []corev1.Container, p *field.Path) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	for i := range list {
		c, at := &list[i], p.Index(i)
		errs = append(errs, s.common(c, at)...)
		errs = append(errs, s.takeName(c.Name, at)...)
		if c.RestartPolicy != nil {
			errs = append(errs, oneOf(*c.RestartPolicy, at.Child("restartPolicy"), corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)...)
		}
		errs = append(errs, s.hooksAndProbes(c, at)...)
	}
	return append(errs, hostPortConflicts(list, p)...)
}

func (s *containerScope) initContainers(list []corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		c, at := &list[i], p.Index(i)
		errs = append(errs, s.common(c, at)...)
		errs = append(errs, s.takeName(c.Name, at)...)
		// Each init container runs alone, so that ports conflict within one only.
		errs = append(errs, hostPortConflicts([]corev1.Container{*c}, p)...)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			errs = append(errs, s.hooksAndProbes(c, at)...)
			continue
		}
		const plain = "may not be set for init containers without restartPolicy=Always"
		if c.Lifecycle != nil {
			errs = append(errs, field.Forbidden(at.Child("lifecycle"), plain))
		}
		if c.LivenessProbe != nil {
			errs = append(errs, field.Forbidden(at.Child("livenessProbe"), plain))
		}
		if c.ReadinessProbe != nil {
			errs = append(errs, field.Forbidden(at.Child("readinessProbe"), plain))
		}
		if c.StartupProbe != nil {
			errs = append(errs, field.Forbidden(at.Child("startupProbe"), plain))
		}
	}
	return errs
}

func (s *containerScope) ephemeralContainers(list []corev1.EphemeralContainer, spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	targets := sets.New[string]()
	for i := range spec.Containers {
		targets.Insert(spec.Containers[i].Name)
	}
	for i := range spec.InitContainers {
		targets.Insert(spec.InitContainers[i].Name)
	}
	for i := range list {
		c, at := (*corev1.Container)(&list[i].EphemeralContainerCommon), p.Index(i)
		errs = append(errs, s.common(c, at)...)
		errs = append(errs, s.takeName(c.Name, at)...)
		if target := list[i].TargetContainerName; target != "" && !targets.Has(target) {
			errs = append(errs, field.NotFound(at.Child("targetContainerName"), target))
		}
		forbidden := func(name string, set bool) {
			if set {
				errs = append(errs, field.Forbidden(at.Child(name), "cannot be set for an Ephemeral Container"))
			}
		}
		forbidden("ports", len(c.Ports) > 0)
		forbidden("livenessProbe", c.LivenessProbe != nil)
		forbidden("readinessProbe", c.ReadinessProbe != nil)
		forbidden("startupProbe", c.StartupProbe != nil)
		forbidden("lifecycle", c.Lifecycle != nil)
		forbidden("resources", len(c.Resources.Limits)+len(c.Resources.Requests)+len(c.Resources.Claims) > 0)
		forbidden("resizePolicy", len(c.ResizePolicy) > 0)
		for j, mount := range c.VolumeMounts {
			if mount.SubPath != "" {
				errs = append(errs, field.Forbidden(at.Child("volumeMounts").Index(j).Child("subPath"), "cannot be set for an Ephemeral Container"))
			}
			if mount.SubPathExpr != "" {
				errs = append(errs, field.Forbidden(at.Child("volumeMounts").Index(j).Child("subPathExpr"), "cannot be set for an Ephemeral Container"))
			}
		}
	}
	return errs
}

// takeName refuses a name that another container of the pod has.
func (s *containerScope) takeName(name string, p *field.Path) field.ErrorList {
	if name == "" {
		return nil
	}
	if s.names.Has(name) {
		return field.ErrorList{field.Duplicate(p.Child("name"), name)}
	}
	s.names.Insert(name)
	return nil
}

// common checks what all sorts of containers have.
func (s *containerScope) common(c *corev1.Container, p *field.Path) field.ErrorList {
	errs := required(c.Name, p.Child("name"))
	if c.Name != "" {
		errs = append(errs, dnsLabel(c.Name, p.Child("name"))...)
	}
	errs = append(errs, required(c.Image, p.Child("image"))...)
	errs = append(errs, requiredOneOf(c.TerminationMessagePolicy, p.Child("terminationMessagePolicy"), corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, containerPorts(c.Ports, p.Child("ports"))...)
	errs = append(errs, env(c.Env, p.Child("env"))...)
	errs = append(errs, envFrom(c.EnvFrom, p.Child("envFrom"))...)
	errs = append(errs, s.mounts(c, p.Child("volumeMounts"))...)
	errs = append(errs, s.devices(c, p.Child("volumeDevices"))...)
	errs = append(errs, requiredOneOf(c.ImagePullPolicy, p.Child("imagePullPolicy"), corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, s.resources(&c.Resources, p.Child("resources"))...)
	errs = append(errs, resizePolicy(c.ResizePolicy, p.Child("resizePolicy"))...)
	if c.SecurityContext != nil {
		errs = append(errs, securityContext(c.SecurityContext, p.Child("securityContext"))...)
	}
	return errs
}

func (s *containerScope) hooksAndProbes(c *corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if l := c.Lifecycle; l != nil {
		if l.PostStart != nil {
			errs = append(errs, s.hook(l.PostStart, p.Child("lifecycle", "postStart"))...)
		}
		if l.PreStop != nil {
			errs = append(errs, s.hook(l.PreStop, p.Child("lifecycle", "preStop"))...)
		}
	}
	if c.LivenessProbe != nil {
		errs = append(errs, probe(c.LivenessProbe, p.Child("livenessProbe"))...)
		errs = append(errs, onceSucceeds(c.LivenessProbe, p.Child("livenessProbe"))...)
	}
	if c.ReadinessProbe != nil {
		errs = append(errs, probe(c.ReadinessProbe, p.Child("readinessProbe"))...)
		if t := c.ReadinessProbe.TerminationGracePeriodSeconds; t != nil {
			errs = append(errs, field.Invalid(p.Child("readinessProbe", "terminationGracePeriodSeconds"), *t, "must not be set for readinessProbes"))
		}
	}
	if c.StartupProbe != nil {
		errs = append(errs, probe(c.StartupProbe, p.Child("startupProbe"))...)
		errs = append(errs, onceSucceeds(c.StartupProbe, p.Child("startupProbe"))...)
	}
	return errs
}

func containerPorts(ports []corev1.ContainerPort, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, port := range ports {
		at := p.Index(i)
		if port.Name != "" {
			if messages := validation.IsValidPortName(port.Name); len(messages) > 0 {
				errs = append(errs, invalid(at.Child("name"), port.Name, messages)...)
			} else if names.Has(port.Name) {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			} else {
				names.Insert(port.Name)
			}
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, portNumber(port.ContainerPort, at.Child("containerPort"))...)
		}
		if port.HostPort != 0 {
			errs = append(errs, portNumber(port.HostPort, at.Child("hostPort"))...)
		}
		errs = append(errs, requiredOneOf(port.Protocol, at.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
		if port.HostIP != "" {
			errs = append(errs, validation.IsValidIP(at.Child("hostIP"), port.HostIP)...)
		}
	}
	return errs
}

func portNumber(port int32, p *field.Path) field.ErrorList {
	return invalid(p, port, validation.IsValidPortNum(int(port)))
}

func hostPortConflicts(list []corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := sets.New[string]()
	for i := range list {
		for j, port := range list[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			id := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if taken.Has(id) {
				errs = append(errs, field.Duplicate(p.Index(i).Child("ports").Index(j).Child("hostPort"), id))
			}
			taken.Insert(id)
		}
	}
	return errs
}

func (s *containerScope) mounts(c *corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	paths, devices, devicePaths := sets.New[string](), sets.New[string](), sets.New[string]()
	for _, d := range c.VolumeDevices {
		devices.Insert(d.Name)
		devicePaths.Insert(d.DevicePath)
	}
	for i, m := range c.VolumeMounts {
		at := p.Index(i)
		errs = append(errs, required(m.Name, at.Child("name"))...)
		if _, ok := s.volumes[m.Name]; !ok {
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		errs = append(errs, required(m.MountPath, at.Child("mountPath"))...)
		if paths.Has(m.MountPath) {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must be unique"))
		}
		paths.Insert(m.MountPath)
		if devices.Has(m.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), m.Name, "must not already exist in volumeDevices"))
		}
		if devicePaths.Has(m.MountPath) {
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices"))
		}
		if m.SubPath != "" {
			errs = append(errs, localPath(m.SubPath, at.Child("subPath"))...)
		}
		if m.SubPathExpr != "" {
			if m.SubPath != "" {
				errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive"))
			}
			errs = append(errs, localPath(m.SubPathExpr, at.Child("subPathExpr"))...)
		}
		errs = append(errs, mountModes(&m, c, at)...)
	}
	return errs
}

func mountModes(m *corev1.VolumeMount, c *corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if mode := m.MountPropagation; mode != nil {
		errs = append(errs, oneOf(*mode, p.Child("mountPropagation"), corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)...)
		privileged := c.SecurityContext != nil && valueOr(c.SecurityContext.Privileged, false)
		if *mode == corev1.MountPropagationBidirectional && !privileged {
			errs = append(errs, field.Forbidden(p.Child("mountPropagation"), "Bidirectional mount propagation is available only to privileged containers"))
		}
	}
	if mode := m.RecursiveReadOnly; mode != nil {
		errs = append(errs, oneOf(*mode, p.Child("recursiveReadOnly"), corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)...)
		if *mode != corev1.RecursiveReadOnlyDisabled {
			if !m.ReadOnly {
				errs = append(errs, field.Forbidden(p.Child("recursiveReadOnly"), "may only be specified when readOnly is true"))
			}
			if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
				errs = append(errs, field.Forbidden(p.Child("recursiveReadOnly"), "may only be specified when mountPropagation is None or not specified"))
			}
		}
	}
	return errs
}

func (s *containerScope) devices(c *corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	names, paths := sets.New[string](), sets.New[string]()
	for i, d := range c.VolumeDevices {
		at := p.Index(i)
		errs = append(errs, required(d.Name, at.Child("name"))...)
		if names.Has(d.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), d.Name, "must be unique"))
		}
		source, ok := s.volumes[d.Name]
		switch {
		case !ok:
			errs = append(errs, field.NotFound(at.Child("name"), d.Name))
		case source.PersistentVolumeClaim == nil && source.Ephemeral == nil:
			errs = append(errs, field.Invalid(at.Child("name"), d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"))
		}
		errs = append(errs, required(d.DevicePath, at.Child("devicePath"))...)
		if paths.Has(d.DevicePath) {
			errs = append(errs, field.Invalid(at.Child("devicePath"), d.DevicePath, "must be unique"))
		}
		if d.DevicePath != "" {
			errs = append(errs, noBacksteps(d.DevicePath, at.Child("devicePath"))...)
		}
		names.Insert(d.Name)
		paths.Insert(d.DevicePath)
	}
	return errs
}

func resizePolicy(list []corev1.ContainerResizePolicy, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[corev1.ResourceName]()
	for i, policy := range list {
		at := p.Index(i)
		if seen.Has(policy.ResourceName) {
			errs = append(errs, field.Duplicate(at, policy.ResourceName))
		}
		seen.Insert(policy.ResourceName)
		errs = append(errs, requiredOneOf(policy.ResourceName, at.Child("resourceName"), corev1.ResourceCPU, corev1.ResourceMemory)...)
		errs = append(errs, requiredOneOf(policy.RestartPolicy, at.Child("restartPolicy"), corev1.NotRequired, corev1.RestartContainer)...)
	}
	return errs
}
