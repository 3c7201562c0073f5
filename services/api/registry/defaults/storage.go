package defaults

import (
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	corev1 "k8s.io/api/core/v1"
)

// StorageClass completes a class.
func StorageClass(c *storagev1.StorageClass) {
	setPointer(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	setPointer(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}

// CSIDriver completes what a driver needs from its cluster.
func CSIDriver(d *storagev1.CSIDriver) {
	setPointer(&d.Spec.AttachRequired, true)
	setPointer(&d.Spec.PodInfoOnMount, false)
	setPointer(&d.Spec.StorageCapacity, false)
	setPointer(&d.Spec.FSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	if len(d.Spec.VolumeLifecycleModes) == 0 {
		d.Spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
	setPointer(&d.Spec.RequiresRepublish, false)
	setPointer(&d.Spec.SELinuxMount, false)
}

// PriorityClass completes a class.
func PriorityClass(c *schedulingv1.PriorityClass) {
	setPointer(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
}
