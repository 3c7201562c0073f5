package tables

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PersistentVolumeColumns are the columns of persistent volumes.
var PersistentVolumeColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Capacity", "string", "Size of the volume."),
	column("Access Modes", "string", "How the volume may be mounted."),
	column("Reclaim Policy", "string", "What happens to the volume when its claim is gone."),
	column("Status", "string", "State of the volume."),
	column("Claim", "string", "Claim that the volume is bound to."),
	column("StorageClass", "string", "Class of the volume."),
	column("VolumeAttributesClass", "string", "Class of the volume's attributes."),
	column("Reason", "string", "Why the volume is in this state."),
	ageColumn,
	wide("VolumeMode", "string", "Whether the volume is a file system or a block device."),
}

// PersistentVolume is the row of a persistent volume.
func (r Rows) PersistentVolume(pv *corev1.PersistentVolume) []any {
	claim := ""
	if ref := pv.Spec.ClaimRef; ref != nil {
		claim = ref.Namespace + "/" + ref.Name
	}
	phase := string(pv.Status.Phase)
	if pv.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	size := pv.Spec.Capacity[corev1.ResourceStorage]
	class, ok := pv.Annotations[corev1.BetaStorageClassAnnotation]
	if !ok {
		class = pv.Spec.StorageClassName
	}
	return []any{
		pv.Name, size.String(), accessModes(pv.Spec.AccessModes), string(pv.Spec.PersistentVolumeReclaimPolicy), phase, claim, class,
		pointerOr(pv.Spec.VolumeAttributesClassName, unset), pv.Status.Reason, r.age(pv), volumeMode(pv.Spec.VolumeMode),
	}
}

// PersistentVolumeClaimColumns are the columns of persistent volume claims.
var PersistentVolumeClaimColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Status", "string", "State of the claim."),
	column("Volume", "string", "Volume that the claim is bound to."),
	column("Capacity", "string", "Size of that volume."),
	column("Access Modes", "string", "How that volume may be mounted."),
	column("StorageClass", "string", "Class of the claim."),
	column("VolumeAttributesClass", "string", "Class of the claim's attributes."),
	ageColumn,
	wide("VolumeMode", "string", "Whether the volume is a file system or a block device."),
}

// PersistentVolumeClaim is the row of a persistent volume claim.
func (r Rows) PersistentVolumeClaim(c *corev1.PersistentVolumeClaim) []any {
	phase := string(c.Status.Phase)
	if c.DeletionTimestamp != nil {
		phase = "Terminating"
	}
	capacity, modes := "", ""
	if c.Spec.VolumeName != "" {
		size := c.Status.Capacity[corev1.ResourceStorage]
		capacity, modes = size.String(), accessModes(c.Status.AccessModes)
	}
	class, ok := c.Annotations[corev1.BetaStorageClassAnnotation]
	if !ok {
		class = pointerOr(c.Spec.StorageClassName, "")
	}
	return []any{
		c.Name, phase, c.Spec.VolumeName, capacity, modes, class, pointerOr(c.Spec.VolumeAttributesClassName, unset), r.age(c),
		volumeMode(c.Spec.VolumeMode),
	}
}

func volumeMode(m *corev1.PersistentVolumeMode) string {
	return string(pointerOr(m, unset))
}

// accessModes are the modes' initials, each once, in this order.
func accessModes(modes []corev1.PersistentVolumeAccessMode) string {
	var list []string
	for _, known := range []struct {
		mode    corev1.PersistentVolumeAccessMode
		initial string
	}{
		{corev1.ReadWriteOnce, "RWO"}, {corev1.ReadOnlyMany, "ROX"}, {corev1.ReadWriteMany, "RWX"}, {corev1.ReadWriteOncePod, "RWOP"},
	} {
		for _, m := range modes {
			if m == known.mode {
				list = append(list, known.initial)
				break
			}
		}
	}
	return strings.Join(list, ",")
}

// StorageClassColumns are the columns of storage classes.
var StorageClassColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Provisioner", "string", "What makes volumes of the class."),
	column("ReclaimPolicy", "string", "What happens to a volume when its claim is gone."),
	column("VolumeBindingMode", "string", "When claims are bound to volumes."),
	column("AllowVolumeExpansion", "string", "Whether volumes can grow."),
	ageColumn,
}

// StorageClass is the row of a storage class.
func (r Rows) StorageClass(c *storagev1.StorageClass) []any {
	return []any{
		defaultName(c.ObjectMeta, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"),
		c.Provisioner,
		string(pointerOr(c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
		string(pointerOr(c.VolumeBindingMode, storagev1.VolumeBindingImmediate)),
		pointerOr(c.AllowVolumeExpansion, false), r.age(c),
	}
}

// defaultName is the object's name, with a remark when one of the annotations makes it the default.
func defaultName(meta metav1.ObjectMeta, annotations ...string) string {
	for _, a := range annotations {
		if meta.Annotations[a] == "true" {
			return meta.Name + " (default)"
		}
	}
	return meta.Name
}

// VolumeAttributesClassColumns are the columns of volume attributes classes.
var VolumeAttributesClassColumns = []metav1.TableColumnDefinition{
	nameColumn, column("DriverName", "string", "Driver that the attributes are for."), ageColumn,
}

// VolumeAttributesClass is the row of a volume attributes class.
func (r Rows) VolumeAttributesClass(c *storagev1.VolumeAttributesClass) []any {
	return []any{
		defaultName(c.ObjectMeta, "volumeattributesclass.alpha.kubernetes.io/is-default-class"), c.DriverName, r.age(c),
	}
}

// VolumeAttachmentColumns are the columns of volume attachments.
var VolumeAttachmentColumns = []metav1.TableColumnDefinition{
	nameColumn,
	{Name: "Attacher", Type: "string", Format: "name", Description: "Driver that attaches the volume."},
	column("PV", "string", "Volume to be attached."),
	column("Node", "string", "Node that it is attached to."),
	column("Attached", "boolean", "Whether it is attached."),
	ageColumn,
}

// VolumeAttachment is the row of a volume attachment.
func (r Rows) VolumeAttachment(a *storagev1.VolumeAttachment) []any {
	return []any{
		a.Name, a.Spec.Attacher, pointerOr(a.Spec.Source.PersistentVolumeName, ""), a.Spec.NodeName, a.Status.Attached, r.age(a),
	}
}

// CSINodeColumns are the columns of CSI nodes.
var CSINodeColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Drivers", "integer", "How many CSI drivers the node has."), ageColumn,
}

// CSINode is the row of a CSI node.
func (r Rows) CSINode(n *storagev1.CSINode) []any {
	return []any{n.Name, int64(len(n.Spec.Drivers)), r.age(n)}
}

// CSIDriverColumns are the columns of CSI drivers.
var CSIDriverColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("AttachRequired", "boolean", "Whether volumes must be attached before they are mounted."),
	column("PodInfoOnMount", "boolean", "Whether the driver is told about the pod."),
	column("StorageCapacity", "boolean", "Whether the driver says how much space is left."),
	column("TokenRequests", "string", "Audiences of the tokens that the driver gets."),
	column("RequiresRepublish", "boolean", "Whether the driver is called again and again."),
	column("Modes", "string", "Kinds of volumes that the driver makes."),
	ageColumn,
}

// CSIDriver is the row of a CSI driver.
func (r Rows) CSIDriver(d *storagev1.CSIDriver) []any {
	tokens := unset
	if d.Spec.TokenRequests != nil {
		audiences := make([]string, len(d.Spec.TokenRequests))
		for i, t := range d.Spec.TokenRequests {
			audiences[i] = t.Audience
		}
		tokens = strings.Join(audiences, ",")
	}
	modes := make([]string, len(d.Spec.VolumeLifecycleModes))
	for i, m := range d.Spec.VolumeLifecycleModes {
		modes[i] = string(m)
	}
	return []any{
		d.Name, pointerOr(d.Spec.AttachRequired, true), pointerOr(d.Spec.PodInfoOnMount, false), pointerOr(d.Spec.StorageCapacity, false),
		tokens, pointerOr(d.Spec.RequiresRepublish, false), or(strings.Join(modes, ","), none), r.age(d),
	}
}

// CSIStorageCapacityColumns are the columns of CSI storage capacities.
var CSIStorageCapacityColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("StorageClassName", "string", "Class that the capacity is for."),
	column("Capacity", "string", "How much space is left."),
}

// CSIStorageCapacity is the row of a CSI storage capacity.
func (r Rows) CSIStorageCapacity(c *storagev1.CSIStorageCapacity) []any {
	capacity := unset
	if c.Capacity != nil {
		capacity = c.Capacity.String()
	}
	return []any{c.Name, c.StorageClassName, capacity}
}
