package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// withClaim is the volumes with one for the claim, which takes the place of one of the same name.
func withClaim(volumes []corev1.Volume, claim *corev1.PersistentVolumeClaim) []corev1.Volume {
	volumes = slices.DeleteFunc(volumes, func(v corev1.Volume) bool { return v.Name == claim.Name })
	return append(volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
	}})
}

// PersistentVolumeClaim checks a claim.
func PersistentVolumeClaim(c *corev1.PersistentVolumeClaim) field.ErrorList {
	return claimSpec(&c.Spec, field.NewPath("spec"))
}

func claimSpec(spec *corev1.PersistentVolumeClaimSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(p.Child("accessModes"), "at least 1 access mode is required"))
	}
	errs = append(errs, labelSelector(spec.Selector, p.Child("selector"))...)
	errs = append(errs, accessModes(spec.AccessModes, p.Child("accessModes"))...)
	size, ok := spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		errs = append(errs, field.Required(p.Child("resources").Key(string(corev1.ResourceStorage)), ""))
	} else if size.Sign() <= 0 {
		errs = append(errs, field.Invalid(p.Child("resources").Key(string(corev1.ResourceStorage)), size.String(), notPositive))
	}
	if name := spec.StorageClassName; name != nil && *name != "" {
		errs = append(errs, invalid(p.Child("storageClassName"), *name, validation.IsDNS1123Subdomain(*name))...)
	}
	if spec.VolumeMode != nil {
		errs = append(errs, oneOf(*spec.VolumeMode, p.Child("volumeMode"), corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return errs
}

func accessModes(modes []corev1.PersistentVolumeAccessMode, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	alone := false
	for _, m := range modes {
		errs = append(errs, oneOf(m, p, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)...)
		alone = alone || m == corev1.ReadWriteOncePod
	}
	if alone && len(modes) > 1 {
		errs = append(errs, field.Forbidden(p, "may not use ReadWriteOncePod with other access modes"))
	}
	return errs
}

// PersistentVolumeClaimUpdate checks what changed in a claim: it is bound once, and can ask for more space.
func PersistentVolumeClaimUpdate(c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	p := field.NewPath("spec")
	errs := PersistentVolumeClaim(c)
	rest := c.Spec.DeepCopy()
	if old.Spec.VolumeName == "" {
		rest.VolumeName = ""
	}
	if old.Spec.StorageClassName == nil {
		rest.StorageClassName = nil
	}
	rest.VolumeAttributesClassName = old.Spec.VolumeAttributesClassName
	if old.Status.Phase == corev1.ClaimBound && rest.Resources.Requests != nil {
		if was, ok := old.Spec.Resources.Requests[corev1.ResourceStorage]; ok {
			now := rest.Resources.Requests[corev1.ResourceStorage]
			if now.Cmp(was) < 0 && now.Cmp(old.Status.Capacity[corev1.ResourceStorage]) <= 0 {
				errs = append(errs, field.Forbidden(p.Child("resources", "requests", "storage"), "field can not be less than status.capacity"))
			}
			rest.Resources.Requests[corev1.ResourceStorage] = was
		}
	}
	if !equality.Semantic.DeepEqual(*rest, old.Spec) {
		errs = append(errs, field.Forbidden(p, fmt.Sprintf("spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n%v", diff.Diff(old.Spec, *rest))))
	}
	return errs
}

// PersistentVolume checks a volume.
func PersistentVolume(pv *corev1.PersistentVolume) field.ErrorList {
	p, spec := field.NewPath("spec"), &pv.Spec
	var errs field.ErrorList
	if len(spec.AccessModes) == 0 {
		errs = append(errs, field.Required(p.Child("accessModes"), ""))
	}
	errs = append(errs, accessModes(spec.AccessModes, p.Child("accessModes"))...)
	switch size, ok := spec.Capacity[corev1.ResourceStorage]; {
	case len(spec.Capacity) == 0:
		errs = append(errs, field.Required(p.Child("capacity"), ""))
	case !ok || len(spec.Capacity) > 1:
		errs = append(errs, field.NotSupported(p.Child("capacity"), spec.Capacity, []string{string(corev1.ResourceStorage)}))
	case size.Sign() <= 0:
		errs = append(errs, field.Invalid(p.Child("capacity").Key(string(corev1.ResourceStorage)), size.String(), notPositive))
	}
	if spec.PersistentVolumeReclaimPolicy != "" {
		errs = append(errs, oneOf(spec.PersistentVolumeReclaimPolicy, p.Child("persistentVolumeReclaimPolicy"),
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)...)
	}
	if spec.NodeAffinity != nil && spec.NodeAffinity.Required != nil {
		errs = append(errs, nodeSelector(spec.NodeAffinity.Required, p.Child("nodeAffinity", "required"))...)
	}
	kind, found := onlySource(&spec.PersistentVolumeSource, p, "must specify a volume type", "may not specify more than 1 volume type")
	errs = append(errs, found...)
	switch kind {
	case "hostPath":
		errs = append(errs, hostPath(spec.HostPath, p.Child("hostPath"))...)
	case "nfs":
		errs = append(errs, nfs(spec.NFS, p.Child("nfs"))...)
	case "local":
		if spec.Local.Path == "" {
			errs = append(errs, field.Required(p.Child("local", "path"), ""))
		} else {
			errs = append(errs, noBacksteps(spec.Local.Path, p.Child("local", "path"))...)
		}
		if spec.NodeAffinity == nil || spec.NodeAffinity.Required == nil {
			errs = append(errs, field.Required(field.NewPath("metadata", "annotations"), "Local volume requires node affinity"))
		}
	case "csi":
		errs = append(errs, driverName(spec.CSI.Driver, p.Child("csi", "driver"))...)
		errs = append(errs, required(spec.CSI.VolumeHandle, p.Child("csi", "volumeHandle"))...)
	}
	if spec.VolumeMode != nil {
		errs = append(errs, oneOf(*spec.VolumeMode, p.Child("volumeMode"), corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)...)
	}
	return errs
}

// PersistentVolumeUpdate checks what changed in a volume: not what it is made of.
func PersistentVolumeUpdate(pv, old *corev1.PersistentVolume) field.ErrorList {
	errs := PersistentVolume(pv)
	if !equality.Semantic.DeepEqual(pv.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "persistentvolumesource"), fmt.Sprintf("spec.persistentvolumesource is immutable after creation\n%v",
			diff.Diff(old.Spec.PersistentVolumeSource, pv.Spec.PersistentVolumeSource))))
	}
	return append(errs, unchanged(pv.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode"))...)
}
