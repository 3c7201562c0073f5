package validation

import (
	"fmt"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func podSecurityContext(spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if valueOr(spec.ShareProcessNamespace, false) && spec.HostPID {
		errs = append(errs, field.Invalid(p.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled"))
	}
	s := spec.SecurityContext
	if s == nil {
		return errs
	}
	if s.FSGroup != nil {
		errs = append(errs, invalid(p.Child("fsGroup"), *s.FSGroup, validation.IsValidGroupID(*s.FSGroup))...)
	}
	errs = append(errs, userAndGroup(s.RunAsUser, s.RunAsGroup, p)...)
	for i, group := range s.SupplementalGroups {
		errs = append(errs, invalid(p.Child("supplementalGroups").Index(i), group, validation.IsValidGroupID(group))...)
	}
	errs = append(errs, sysctls(s.Sysctls, spec, p.Child("sysctls"))...)
	if s.FSGroupChangePolicy != nil {
		errs = append(errs, oneOf(*s.FSGroupChangePolicy, p.Child("fsGroupChangePolicy"), corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	}
	if s.SupplementalGroupsPolicy != nil {
		errs = append(errs, oneOf(*s.SupplementalGroupsPolicy, p.Child("supplementalGroupsPolicy"), corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if s.SELinuxChangePolicy != nil {
		errs = append(errs, oneOf(*s.SELinuxChangePolicy, p.Child("seLinuxChangePolicy"), corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	return append(errs, profiles(s.SeccompProfile, s.AppArmorProfile, p)...)
}

func securityContext(s *corev1.SecurityContext, p *field.Path) field.ErrorList {
	errs := userAndGroup(s.RunAsUser, s.RunAsGroup, p)
	if s.ProcMount != nil {
		errs = append(errs, oneOf(*s.ProcMount, p.Child("procMount"), corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
	}
	errs = append(errs, profiles(s.SeccompProfile, s.AppArmorProfile, p)...)
	if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
		return errs
	}
	if valueOr(s.Privileged, false) {
		errs = append(errs, field.Invalid(p, s, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
	}
	if s.Capabilities != nil {
		for _, c := range s.Capabilities.Add {
			if c == "CAP_SYS_ADMIN" {
				errs = append(errs, field.Invalid(p, s, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
			}
		}
	}
	return errs
}

func userAndGroup(user, group *int64, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if user != nil {
		errs = append(errs, invalid(p.Child("runAsUser"), *user, validation.IsValidUserID(*user))...)
	}
	if group != nil {
		errs = append(errs, invalid(p.Child("runAsGroup"), *group, validation.IsValidGroupID(*group))...)
	}
	return errs
}

func profiles(seccomp *corev1.SeccompProfile, appArmor *corev1.AppArmorProfile, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s := seccomp; s != nil {
		at := p.Child("seccompProfile")
		errs = append(errs, localhostProfile(s.Type == corev1.SeccompProfileTypeLocalhost, s.LocalhostProfile, "seccomp", at)...)
		if s.LocalhostProfile != nil {
			errs = append(errs, localPath(*s.LocalhostProfile, at.Child("localhostProfile"))...)
		}
		errs = append(errs, requiredOneOf(s.Type, at.Child("type"), corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)...)
	}
	if a := appArmor; a != nil {
		at := p.Child("appArmorProfile")
		errs = append(errs, localhostProfile(a.Type == corev1.AppArmorProfileTypeLocalhost, a.LocalhostProfile, "AppArmor", at)...)
		errs = append(errs, requiredOneOf(a.Type, at.Child("type"), corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)...)
	}
	return errs
}

func localhostProfile(localhost bool, profile *string, what string, p *field.Path) field.ErrorList {
	at := p.Child("localhostProfile")
	switch {
	case localhost && profile == nil:
		return field.ErrorList{field.Required(at, fmt.Sprintf("must be set when %s type is Localhost", what))}
	case !localhost && profile != nil:
		return field.ErrorList{field.Invalid(at, *profile, fmt.Sprintf("can only be set when %s type is Localhost", what))}
	default:
		return nil
	}
}

// A sysctl's name: segments between dots or slashes.
const (
	maxSysctl     = 253
	sysctlPattern = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)

var sysctlName = regexp.MustCompile(sysctlPattern)

func sysctls(list []corev1.Sysctl, spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, s := range list {
		at := p.Index(i).Child("name")
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(at, ""))
		case len(s.Name) > maxSysctl || !sysctlName.MatchString(s.Name):
			errs = append(errs, field.Invalid(at, s.Name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctl, sysctlPattern)))
		case seen.Has(s.Name):
			errs = append(errs, field.Duplicate(at, s.Name))
		}
		seen.Insert(s.Name)
		if spec.HostNetwork && len(s.Name) > 4 && (s.Name[:4] == "net." || s.Name[:4] == "net/") {
			errs = append(errs, field.Invalid(at, s.Name, "may not be specified when 'hostNetwork' is true"))
		}
	}
	return errs
}
