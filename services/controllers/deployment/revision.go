package deployment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
)

// Annotations on ReplicaSets, and the revision on Deployments too.
const (
	revisionAnnotation        = "deployment.kubernetes.io/revision"
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
)

// notCopied are the annotations of a Deployment that its ReplicaSets do not get.
var notCopied = map[string]bool{
	corev1.LastAppliedConfigAnnotation: true,
	revisionAnnotation:                 true,
	revisionHistoryAnnotation:          true,
	desiredReplicasAnnotation:          true,
	maxReplicasAnnotation:              true,
	appsv1.DeprecatedRollbackTo:        true,
}

// maxHistory bounds the revision-history annotation, in bytes.
const maxHistory = 2000

// templateHash names a template: FNV-1a over its JSON, in which maps are sorted, and the number of collisions so far.
func templateHash(template *corev1.PodTemplateSpec, collisions *int32) (string, error) {
	data, err := json.Marshal(template)
	if err != nil {
		return "", err
	}
	h := fnv.New32a()
	h.Write(data)
	if collisions != nil {
		fmt.Fprintf(h, "/%d", *collisions)
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10)), nil
}

// sameTemplate compares templates but for the hash label, which only ReplicaSets' have.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	delete(b.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(a, b)
}

// findNew is the oldest ReplicaSet with the Deployment's template: should there be two, everybody picks the same one.
func findNew(dep *appsv1.Deployment, sets []*appsv1.ReplicaSet) *appsv1.ReplicaSet {
	for _, rs := range slices.SortedFunc(slices.Values(sets), byCreation) {
		if sameTemplate(&rs.Spec.Template, &dep.Spec.Template) {
			return rs
		}
	}
	return nil
}

func annotatedInt(obj metav1.Object, name string) (int32, bool) {
	n, err := strconv.ParseInt(obj.GetAnnotations()[name], 10, 32)
	return int32(n), err == nil
}

func revisionOf(obj metav1.Object) int64 {
	n, err := strconv.ParseInt(obj.GetAnnotations()[revisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// annotate brings the annotations of the new ReplicaSet up to date: the Deployment's own, and the revision; a revision that it had before goes
// into its history. It tells whether anything changed.
func annotate(dep *appsv1.Deployment, rs *appsv1.ReplicaSet, revision int64) (changed bool) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	set := func(name, value string) {
		if old, ok := rs.Annotations[name]; !ok || old != value {
			rs.Annotations[name] = value
			changed = true
		}
	}
	for name, value := range dep.Annotations {
		if !notCopied[name] {
			set(name, value)
		}
	}
	if old := revisionOf(rs); old < revision {
		set(revisionAnnotation, strconv.FormatInt(revision, 10))
		if old > 0 {
			history := strconv.FormatInt(old, 10)
			if before := rs.Annotations[revisionHistoryAnnotation]; before != "" {
				history = before + "," + history
			}
			for len(history) > maxHistory {
				_, history, _ = strings.Cut(history, ",")
			}
			set(revisionHistoryAnnotation, history)
		}
	}
	return changed
}

// annotateSizes records the sizes that the Deployment had when rs was last scaled, from which a later change is told.
func annotateSizes(dep *appsv1.Deployment, rs *appsv1.ReplicaSet) (changed bool) {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	for name, n := range map[string]int32{desiredReplicasAnnotation: replicasOf(dep), maxReplicasAnnotation: replicasOf(dep) + surgeOf(dep)} {
		if v := strconv.Itoa(int(n)); rs.Annotations[name] != v {
			rs.Annotations[name] = v
			changed = true
		}
	}
	return changed
}

// findRevisions sets r.newSet and r.old, and brings the new ReplicaSet's revision and annotations up to date. With create it is made
// if there is none, already at the size that it may have.
func (r *rollout) findRevisions(ctx context.Context, create bool) error {
	r.newSet = findNew(r.dep, r.all)
	r.old = slices.DeleteFunc(slices.Clone(r.all), func(rs *appsv1.ReplicaSet) bool { return r.newSet != nil && rs.UID == r.newSet.UID })
	highest := int64(0)
	for _, rs := range r.old {
		highest = max(highest, revisionOf(rs))
	}
	if r.newSet == nil {
		if create {
			return r.createNew(ctx, highest+1)
		}
		return nil
	}
	if r.dep.DeletionTimestamp != nil {
		return nil
	}
	rs := r.newSet.DeepCopy()
	changed := annotate(r.dep, rs, highest+1)
	if rs.Spec.MinReadySeconds != r.dep.Spec.MinReadySeconds {
		rs.Spec.MinReadySeconds, changed = r.dep.Spec.MinReadySeconds, true
	}
	if changed {
		updated, err := r.Client.ReplicaSets(rs.Namespace).Update(ctx, rs)
		if err != nil {
			return fmt.Errorf("updating ReplicaSet %s/%s: %w", rs.Namespace, rs.Name, err)
		}
		r.replace(updated)
	}
	statusChanged := r.hasDeadline() && conditionOf(&r.dep.Status, appsv1.DeploymentProgressing) == nil
	if statusChanged {
		r.progressing(corev1.ConditionTrue, foundNewReplicaSet, fmt.Sprintf("Found new replica set %q", rs.Name))
	}
	return r.saveRevision(ctx, revisionOf(r.newSet), statusChanged)
}

func (r *rollout) createNew(ctx context.Context, revision int64) error {
	dep := r.dep
	hash, err := templateHash(&dep.Spec.Template, dep.Status.CollisionCount)
	if err != nil {
		return fmt.Errorf("hashing the template of Deployment %s/%s: %w", dep.Namespace, dep.Name, err)
	}
	template := dep.Spec.Template.DeepCopy()
	template.Labels = withLabel(template.Labels, hash)
	selector := dep.Spec.Selector.DeepCopy()
	selector.MatchLabels = withLabel(selector.MatchLabels, hash)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: dep.Name + "-" + hash, Namespace: dep.Namespace, Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(dep, kind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(newSize(dep, r.all, nil)), MinReadySeconds: dep.Spec.MinReadySeconds, Selector: selector, Template: *template,
		},
	}
	annotate(dep, rs, revision)
	annotateSizes(dep, rs)
	created, err := r.Client.ReplicaSets(dep.Namespace).Create(ctx, rs)
	switch {
	case apierrors.IsAlreadyExists(err):
		return r.collided(ctx, rs.Name)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case err != nil:
		message := fmt.Sprintf("Failed to create new replica set %q: %v", rs.Name, err)
		r.Events.Event(ctx, dep, corev1.EventTypeWarning, replicaSetCreateError, "%s", message)
		if r.hasDeadline() {
			r.progressing(corev1.ConditionFalse, replicaSetCreateError, message)
			// The create's error is the one that matters.
			_ = r.saveStatus(ctx, dep.Status)
		}
		return err
	}
	if n := size(created); n > 0 {
		r.Events.Event(ctx, dep, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled up replica set %s from 0 to %d", created.Name, n)
	}
	r.newSet, r.all = created, append(r.all, created)
	if r.hasDeadline() {
		r.progressing(corev1.ConditionTrue, newReplicaSetCreated, fmt.Sprintf("Created new replica set %q", created.Name))
	}
	return r.saveRevision(ctx, revision, r.hasDeadline())
}

// collided handles a ReplicaSet that has the name already. When it is ours the cache was behind; else the hash is salted anew.
func (r *rollout) collided(ctx context.Context, name string) error {
	rs, err := r.Client.ReplicaSets(r.dep.Namespace).Get(ctx, name)
	if err != nil {
		return err
	}
	if metav1.IsControlledBy(rs, r.dep) && sameTemplate(&rs.Spec.Template, &r.dep.Spec.Template) {
		r.newSet, r.all = rs, append(r.all, rs)
		return r.saveRevision(ctx, revisionOf(rs), false)
	}
	r.dep.Status.CollisionCount = ptr.To(ptr.Deref(r.dep.Status.CollisionCount, 0) + 1)
	if err := r.saveStatus(ctx, r.dep.Status); err != nil {
		return err
	}
	r.Logger.Info("another ReplicaSet has the name of the new one, hashing its template anew", "deployment", r.dep.Namespace+"/"+r.dep.Name, "name", name)
	return fmt.Errorf("ReplicaSet %s/%s exists with another template or owner", r.dep.Namespace, name)
}

func withLabel(labels map[string]string, hash string) map[string]string {
	out := maps.Clone(labels)
	if out == nil {
		out = map[string]string{}
	}
	out[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	return out
}

// saveRevision writes the Deployment's revision annotation when it is not right yet, and the status when statusChanged. They go through
// two doors of the api, so they are two writes.
func (r *rollout) saveRevision(ctx context.Context, revision int64, statusChanged bool) error {
	value := strconv.FormatInt(revision, 10)
	if revision > 0 && r.dep.Annotations[revisionAnnotation] != value {
		status := *r.dep.Status.DeepCopy()
		if r.dep.Annotations == nil {
			r.dep.Annotations = map[string]string{}
		}
		r.dep.Annotations[revisionAnnotation] = value
		updated, err := r.Client.Deployments(r.dep.Namespace).Update(ctx, r.dep)
		if err != nil {
			return fmt.Errorf("updating the revision of Deployment %s/%s: %w", r.dep.Namespace, r.dep.Name, err)
		}
		r.dep, r.stored = updated, updated.Status
		r.dep.Status = status
	}
	if !statusChanged {
		return nil
	}
	return r.saveStatus(ctx, r.dep.Status)
}

// cleanUp deletes the oldest of the old ReplicaSets beyond spec.revisionHistoryLimit.
func (r *rollout) cleanUp(ctx context.Context) error {
	limit := ptr.Deref(r.dep.Spec.RevisionHistoryLimit, math.MaxInt32)
	if limit == math.MaxInt32 {
		return nil
	}
	alive := slices.DeleteFunc(slices.Clone(r.old), func(rs *appsv1.ReplicaSet) bool { return rs.DeletionTimestamp != nil })
	surplus := len(alive) - int(limit)
	if surplus <= 0 {
		return nil
	}
	slices.SortFunc(alive, func(a, b *appsv1.ReplicaSet) int {
		return cmp.Or(cmp.Compare(revisionOf(a), revisionOf(b)), byCreation(a, b))
	})
	for _, rs := range alive[:surplus] {
		if rs.Status.Replicas != 0 || size(rs) != 0 || rs.Generation > rs.Status.ObservedGeneration {
			continue
		}
		err := r.Client.ReplicaSets(rs.Namespace).Delete(ctx, rs.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &rs.UID, ResourceVersion: &rs.ResourceVersion}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting the old ReplicaSet %s/%s: %w", rs.Namespace, rs.Name, err)
		}
	}
	return nil
}
