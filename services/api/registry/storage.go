package registry

import (
	storagev1 "k8s.io/api/storage/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
)

func storageKinds(o Options) []*Kind {
	const group = "storage.k8s.io"
	return []*Kind{
		entry[*storagev1.StorageClassList](group, "v1", "storageclasses", rules[*storagev1.StorageClass]{
			Default:                  defaults.StorageClass,
			AllowUnconditionalUpdate: true,
		}),
		entry[*storagev1.CSIDriverList](group, "v1", "csidrivers", rules[*storagev1.CSIDriver]{Default: defaults.CSIDriver}),
		entry[*storagev1.CSINodeList](group, "v1", "csinodes", rules[*storagev1.CSINode]{}),
		entry[*storagev1.CSIStorageCapacityList](group, "v1", "csistoragecapacities", rules[*storagev1.CSIStorageCapacity]{}),
		entry[*storagev1.VolumeAttachmentList](group, "v1", "volumeattachments", rules[*storagev1.VolumeAttachment]{}),
		entry[*storagev1.VolumeAttributesClassList](group, "v1", "volumeattributesclasses", rules[*storagev1.VolumeAttributesClass]{
			AllowUnconditionalUpdate: true,
		}),
	}
}
