package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// fileMode is the mode of files made from secrets, config maps and pod fields: 0644.
const fileMode int32 = 0o644

func volume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if s := v.Secret; s != nil {
		setPointer(&s.DefaultMode, fileMode)
	}
	if s := v.ConfigMap; s != nil {
		setPointer(&s.DefaultMode, fileMode)
	}
	if s := v.DownwardAPI; s != nil {
		setPointer(&s.DefaultMode, fileMode)
		for i := range s.Items {
			fieldRef(s.Items[i].FieldRef)
		}
	}
	if s := v.Projected; s != nil {
		projected(s)
	}
	if s := v.HostPath; s != nil {
		setPointer(&s.Type, corev1.HostPathUnset)
	}
	if s := v.Image; s != nil && s.PullPolicy == "" {
		s.PullPolicy = pullPolicy(s.Reference)
	}
	if s := v.Ephemeral; s != nil && s.VolumeClaimTemplate != nil {
		claimSpec(&s.VolumeClaimTemplate.Spec)
	}
	if s := v.ISCSI; s != nil {
		set(&s.ISCSIInterface, "default")
	}
	if s := v.RBD; s != nil {
		set(&s.RBDPool, "rbd")
		set(&s.RadosUser, "admin")
		set(&s.Keyring, "/etc/ceph/keyring")
	}
	if s := v.AzureDisk; s != nil {
		azureDisk(s)
	}
	if s := v.ScaleIO; s != nil {
		set(&s.StorageMode, "ThinProvisioned")
		set(&s.FSType, "xfs")
	}
}

func projected(s *corev1.ProjectedVolumeSource) {
	setPointer(&s.DefaultMode, fileMode)
	for i := range s.Sources {
		if d := s.Sources[i].DownwardAPI; d != nil {
			for j := range d.Items {
				fieldRef(d.Items[j].FieldRef)
			}
		}
		if t := s.Sources[i].ServiceAccountToken; t != nil {
			setPointer(&t.ExpirationSeconds, 60*60)
		}
	}
}

func azureDisk(s *corev1.AzureDiskVolumeSource) {
	setPointer(&s.CachingMode, corev1.AzureDataDiskCachingReadWrite)
	setPointer(&s.Kind, corev1.AzureSharedBlobDisk)
	setPointer(&s.FSType, "ext4")
	setPointer(&s.ReadOnly, false)
}

// PersistentVolumeClaim completes a claim.
func PersistentVolumeClaim(c *corev1.PersistentVolumeClaim) {
	set(&c.Status.Phase, corev1.ClaimPending)
	claimSpec(&c.Spec)
	roundUp(c.Status.Capacity)
	roundUp(c.Status.AllocatedResources)
}

func claimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	setPointer(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(spec.Resources.Limits)
	roundUp(spec.Resources.Requests)
}

// PersistentVolume completes a volume.
func PersistentVolume(pv *corev1.PersistentVolume) {
	set(&pv.Status.Phase, corev1.VolumePending)
	set(&pv.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
	setPointer(&pv.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	roundUp(pv.Spec.Capacity)
	if s := pv.Spec.HostPath; s != nil {
		setPointer(&s.Type, corev1.HostPathUnset)
	}
	if s := pv.Spec.ISCSI; s != nil {
		set(&s.ISCSIInterface, "default")
	}
	if s := pv.Spec.RBD; s != nil {
		set(&s.RBDPool, "rbd")
		set(&s.RadosUser, "admin")
		set(&s.Keyring, "/etc/ceph/keyring")
	}
	if s := pv.Spec.AzureDisk; s != nil {
		azureDisk(s)
	}
	if s := pv.Spec.ScaleIO; s != nil {
		set(&s.StorageMode, "ThinProvisioned")
		set(&s.FSType, "xfs")
	}
}
