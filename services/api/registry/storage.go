package registry

import (
	storagev1 "k8s.io/api/storage/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func storageKinds(o Options) []*Kind {
	row := o.rows()
	const group = "storage.k8s.io"
	return []*Kind{
		entry[*storagev1.StorageClassList](group, "v1", "storageclasses", rules[*storagev1.StorageClass]{
			Default:                  defaults.StorageClass,
			Validate:                 validation.StorageClass,
			ValidateUpdate:           validation.StorageClassUpdate,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.StorageClassColumns,
			Row:                      row.StorageClass,
		}),
		entry[*storagev1.CSIDriverList](group, "v1", "csidrivers", rules[*storagev1.CSIDriver]{
			Default: defaults.CSIDriver,
			Columns: tables.CSIDriverColumns,
			Row:     row.CSIDriver,
		}),
		entry[*storagev1.CSINodeList](group, "v1", "csinodes", rules[*storagev1.CSINode]{
			Columns: tables.CSINodeColumns,
			Row:     row.CSINode,
		}),
		entry[*storagev1.CSIStorageCapacityList](group, "v1", "csistoragecapacities", rules[*storagev1.CSIStorageCapacity]{
			Columns: tables.CSIStorageCapacityColumns,
			Row:     row.CSIStorageCapacity,
		}),
		entry[*storagev1.VolumeAttachmentList](group, "v1", "volumeattachments", rules[*storagev1.VolumeAttachment]{
			Columns: tables.VolumeAttachmentColumns,
			Row:     row.VolumeAttachment,
		}),
		entry[*storagev1.VolumeAttributesClassList](group, "v1", "volumeattributesclasses", rules[*storagev1.VolumeAttributesClass]{
			AllowUnconditionalUpdate: true,
			Columns:                  tables.VolumeAttributesClassColumns,
			Row:                      row.VolumeAttributesClass,
		}),
	}
}
