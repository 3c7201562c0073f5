package tables

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeviceColumns are the columns of device classes and resource claim templates.
var DeviceColumns = []metav1.TableColumnDefinition{nameColumn, ageColumn}

// DeviceClass is the row of a device class.
func (r Rows) DeviceClass(c *resourcev1.DeviceClass) []any { return []any{c.Name, r.age(c)} }

// ResourceClaimTemplate is the row of a resource claim template.
func (r Rows) ResourceClaimTemplate(t *resourcev1.ResourceClaimTemplate) []any {
	return []any{t.Name, r.age(t)}
}

// ResourceClaimColumns are the columns of resource claims.
var ResourceClaimColumns = []metav1.TableColumnDefinition{
	nameColumn, column("State", "string", "What has become of the claim."), ageColumn,
}

// ResourceClaim is the row of a resource claim.
func (r Rows) ResourceClaim(c *resourcev1.ResourceClaim) []any {
	var states []string
	if c.DeletionTimestamp != nil {
		states = append(states, "deleted")
	}
	if c.Status.Allocation == nil {
		if c.DeletionTimestamp == nil {
			states = append(states, "pending")
		}
	} else {
		states = append(states, "allocated")
		if len(c.Status.ReservedFor) > 0 {
			states = append(states, "reserved")
		}
	}
	return []any{c.Name, strings.Join(states, ","), r.age(c)}
}

// ResourceSliceColumns are the columns of resource slices.
var ResourceSliceColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Node", "string", "Node that the devices are at."),
	column("Driver", "string", "Driver of the devices."),
	column("Pool", "string", "Pool that the devices belong to."),
	ageColumn,
}

// ResourceSlice is the row of a resource slice.
func (r Rows) ResourceSlice(s *resourcev1.ResourceSlice) []any {
	return []any{s.Name, pointerOr(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name, r.age(s)}
}
