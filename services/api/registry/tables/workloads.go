package tables

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	desiredColumn = column("Desired", "integer", "How many pods there should be.")
	currentColumn = column("Current", "integer", "How many pods there are.")
	readyColumn   = column("Ready", "integer", "How many of the pods are ready.")
)

// DeploymentColumns are the columns of deployments.
var DeploymentColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Ready", "string", "How many pods are ready, of how many that there should be."),
	column("Up-to-date", "string", "How many pods are of the current template."),
	column("Available", "string", "How many pods have been ready for long enough."),
	ageColumn, containerColumn, imageColumn, selectorColumn,
}

// Deployment is the row of a deployment.
func (r Rows) Deployment(d *appsv1.Deployment) []any {
	names, images := containerCells(d.Spec.Template.Spec.Containers)
	selector := "<invalid>"
	if s, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err == nil {
		selector = s.String()
	}
	return []any{
		d.Name, fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, pointerOr(d.Spec.Replicas, 0)),
		int64(d.Status.UpdatedReplicas), int64(d.Status.AvailableReplicas), r.age(d), names, images, selector,
	}
}

// ReplicaSetColumns are the columns of replica sets.
var ReplicaSetColumns = []metav1.TableColumnDefinition{
	nameColumn, desiredColumn, currentColumn, readyColumn, ageColumn, containerColumn, imageColumn, selectorColumn,
}

// ReplicaSet is the row of a replica set.
func (r Rows) ReplicaSet(rs *appsv1.ReplicaSet) []any {
	names, images := containerCells(rs.Spec.Template.Spec.Containers)
	return []any{
		rs.Name, int64(pointerOr(rs.Spec.Replicas, 0)), int64(rs.Status.Replicas), int64(rs.Status.ReadyReplicas), r.age(rs),
		names, images, selectorCell(rs.Spec.Selector),
	}
}

// ReplicationControllerColumns are the columns of replication controllers.
var ReplicationControllerColumns = ReplicaSetColumns

// ReplicationController is the row of a replication controller.
func (r Rows) ReplicationController(rc *corev1.ReplicationController) []any {
	var names, images string
	if rc.Spec.Template != nil {
		names, images = containerCells(rc.Spec.Template.Spec.Containers)
	}
	return []any{
		rc.Name, int64(pointerOr(rc.Spec.Replicas, 0)), int64(rc.Status.Replicas), int64(rc.Status.ReadyReplicas), r.age(rc),
		names, images, labelsCell(rc.Spec.Selector),
	}
}

// StatefulSetColumns are the columns of stateful sets.
var StatefulSetColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Ready", "string", "How many pods are ready, of how many that there should be."),
	ageColumn, containerColumn, imageColumn,
}

// StatefulSet is the row of a stateful set.
func (r Rows) StatefulSet(s *appsv1.StatefulSet) []any {
	names, images := containerCells(s.Spec.Template.Spec.Containers)
	return []any{s.Name, fmt.Sprintf("%d/%d", s.Status.ReadyReplicas, pointerOr(s.Spec.Replicas, 0)), r.age(s), names, images}
}

// DaemonSetColumns are the columns of daemon sets.
var DaemonSetColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Desired", "integer", "How many nodes should run a pod of the set."),
	column("Current", "integer", "How many of these nodes run one."),
	readyColumn,
	column("Up-to-date", "integer", "How many pods are of the current template."),
	column("Available", "integer", "How many pods have been ready for long enough."),
	column("Node Selector", "string", "Labels of the nodes that should run a pod of the set."),
	ageColumn, containerColumn, imageColumn, selectorColumn,
}

// DaemonSet is the row of a daemon set.
func (r Rows) DaemonSet(ds *appsv1.DaemonSet) []any {
	names, images := containerCells(ds.Spec.Template.Spec.Containers)
	return []any{
		ds.Name, int64(ds.Status.DesiredNumberScheduled), int64(ds.Status.CurrentNumberScheduled), int64(ds.Status.NumberReady),
		int64(ds.Status.UpdatedNumberScheduled), int64(ds.Status.NumberAvailable), labelsCell(ds.Spec.Template.Spec.NodeSelector), r.age(ds),
		names, images, selectorCell(ds.Spec.Selector),
	}
}

// ControllerRevisionColumns are the columns of controller revisions.
var ControllerRevisionColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Controller", "string", "Object that the revision is of."),
	column("Revision", "string", "Number of the revision."),
	ageColumn,
}

// ControllerRevision is the row of a controller revision.
func (r Rows) ControllerRevision(c *appsv1.ControllerRevision) []any {
	owner := none
	if ref := metav1.GetControllerOf(c); ref != nil {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
		owner = strings.ToLower(kind.String()) + "/" + ref.Name
	}
	return []any{c.Name, owner, c.Revision, r.age(c)}
}
