package defaults

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Deployment completes a deployment.
func Deployment(d *appsv1.Deployment) {
	spec := &d.Spec
	podSpec(&spec.Template.Spec)
	setPointer(&spec.Replicas, 1)
	set(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
	if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		if spec.Strategy.RollingUpdate == nil {
			spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
		}
		setPointer(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
		setPointer(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
	}
	setPointer(&spec.RevisionHistoryLimit, 10)
	setPointer(&spec.ProgressDeadlineSeconds, 600)
}

// ReplicaSet completes a replica set.
func ReplicaSet(rs *appsv1.ReplicaSet) {
	podSpec(&rs.Spec.Template.Spec)
	setPointer(&rs.Spec.Replicas, 1)
}

// StatefulSet completes a stateful set.
func StatefulSet(s *appsv1.StatefulSet) {
	spec := &s.Spec
	podSpec(&spec.Template.Spec)
	setPointer(&spec.Replicas, 1)
	set(&spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
	set(&spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		if spec.UpdateStrategy.RollingUpdate == nil {
			spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
		setPointer(&spec.UpdateStrategy.RollingUpdate.Partition, 0)
		setPointer(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	}
	if spec.PersistentVolumeClaimRetentionPolicy == nil {
		spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	set(&spec.PersistentVolumeClaimRetentionPolicy.WhenDeleted, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	set(&spec.PersistentVolumeClaimRetentionPolicy.WhenScaled, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)
	setPointer(&spec.RevisionHistoryLimit, 10)
	for i := range spec.VolumeClaimTemplates {
		claim := &spec.VolumeClaimTemplates[i]
		set(&claim.APIVersion, "v1")
		set(&claim.Kind, "PersistentVolumeClaim")
		PersistentVolumeClaim(claim)
	}
}

// DaemonSet completes a daemon set.
func DaemonSet(ds *appsv1.DaemonSet) {
	spec := &ds.Spec
	podSpec(&spec.Template.Spec)
	set(&spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
	if spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		if spec.UpdateStrategy.RollingUpdate == nil {
			spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{}
		}
		setPointer(&spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
		setPointer(&spec.UpdateStrategy.RollingUpdate.MaxSurge, intstr.FromInt32(0))
	}
	setPointer(&spec.RevisionHistoryLimit, 10)
}
