package endpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/admission"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
)

// Delete implements Interface.
func (e *Endpoint) Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) (*object.Entry, bool, error) {
	if err := validateDelete(&options); err != nil {
		return nil, false, err
	}
	return e.remove(ctx, namespace, name, &options, nil)
}

func validateDelete(options *metav1.DeleteOptions) error {
	kind := schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}
	if errs := metavalidation.ValidateDeleteOptions(options); len(errs) > 0 {
		return apierrors.NewInvalid(kind, "", errs)
	}
	if i := options.IgnoreStoreReadErrorWithClusterBreakingPotential; i != nil && *i {
		return apierrors.NewBadRequest("ignoreStoreReadErrorWithClusterBreakingPotential is not supported: an object that cannot be read cannot be deleted here")
	}
	return nil
}

// remove deletes an object or begins to. amend, when not nil, changes an object that stays for its grace period or its finalizers.
func (e *Endpoint) remove(ctx context.Context, namespace, name string, options *metav1.DeleteOptions, amend func(object.Object)) (*object.Entry, bool, error) {
	dryRun := len(options.DryRun) > 0
	a := &admission.Attributes{Kind: e.kind, Operation: admission.Delete, Namespace: namespace, Name: name, DryRun: dryRun}
	if err := e.set.admit.Mutate(ctx, a); err != nil {
		return nil, false, err
	}
	key := e.key(namespace, name)
	held := claims{kind: e.kind}
	r, err := e.set.store.Update(ctx, e.codec, key, e.cache.Peek(key), func(stored *object.Entry) (storage.Change, error) {
		if stored == nil {
			return storage.Change{}, e.notFound(name)
		}
		cur, err := e.view(stored)
		if err != nil {
			return storage.Change{}, err
		}
		if err := e.preconditions(cur.Object, options.Preconditions); err != nil {
			return storage.Change{}, err
		}
		a.Old = cur.Object
		if err := e.set.admit.Validate(ctx, a); err != nil {
			return storage.Change{}, err
		}
		obj, gone := e.dying(ctx, cur.Object, options)
		held.old = nil
		if gone {
			held.old = cur.Object
			return storage.Change{Delete: true, DryRun: dryRun}, nil
		}
		if amend != nil {
			amend(obj)
		}
		return e.store(obj, dryRun, false)
	})
	held.settle(ctx, err, dryRun)
	if err != nil {
		return nil, false, e.fail(name, err)
	}
	entry, err := e.view(r.Entry)
	return entry, r.Deleted, err
}

// preconditions compares what a deletion asks for with the object. The kind stands where errors have the resource, as in
// Kubernetes.
func (e *Endpoint) preconditions(obj object.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	resource := schema.GroupResource{Group: e.group.Group, Resource: e.group.Kind}
	if p.UID != nil && *p.UID != obj.GetUID() {
		return apierrors.NewConflict(resource, obj.GetName(), fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). "+
			"The object might have been deleted and then recreated", *p.UID, obj.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != obj.GetResourceVersion() {
		return apierrors.NewConflict(resource, obj.GetName(), fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). "+
			"The object might have been modified", *p.ResourceVersion, obj.GetResourceVersion()))
	}
	return nil
}

// dying is old as a deletion leaves it: gone, or still there with a deletionTimestamp, for a grace period or until its finalizers
// have been removed.
func (e *Endpoint) dying(ctx context.Context, old object.Object, options *metav1.DeleteOptions) (obj object.Object, gone bool) {
	obj = deepCopy(old)
	now := metav1.NewTime(e.set.clock.Now()).Rfc3339Copy()
	grace := int64(0)
	if e.kind.Graceful != nil {
		switch left, pending := shorten(obj, options); {
		case pending:
			return obj, false
		case obj.GetDeletionTimestamp() != nil:
			grace = left
		default:
			if grace = e.kind.Graceful(ctx, obj, options); grace > 0 {
				begin(obj, metav1.NewTime(now.Add(time.Duration(grace)*time.Second)), grace)
			}
		}
	}
	obj.SetFinalizers(e.garbageFinalizers(obj, options))
	held := len(obj.GetFinalizers()) > 0 || e.kind.HoldDeletion != nil && e.kind.HoldDeletion(obj)
	if grace == 0 && !held {
		return nil, true
	}
	if obj.GetDeletionTimestamp() == nil {
		begin(obj, now, 0)
	}
	if e.kind.BeginDeletion != nil {
		e.kind.BeginDeletion(obj)
	}
	return obj, false
}

// begin marks the object; generation counts, since everybody who acts on the object now acts otherwise.
func begin(obj object.Object, at metav1.Time, grace int64) {
	obj.SetDeletionTimestamp(&at)
	obj.SetDeletionGracePeriodSeconds(&grace)
	if g := obj.GetGeneration(); g > 0 {
		obj.SetGeneration(g + 1)
	}
}

// shorten applies a further deletion to an object that is being deleted gracefully: it may only end the grace period earlier.
// pending says that it changes nothing.
func shorten(obj object.Object, options *metav1.DeleteOptions) (grace int64, pending bool) {
	at, was := obj.GetDeletionTimestamp(), obj.GetDeletionGracePeriodSeconds()
	if at == nil || was == nil {
		return 0, false
	}
	if options.GracePeriodSeconds == nil {
		return *was, true
	}
	grace = *options.GracePeriodSeconds
	if grace < 0 {
		grace = 1
	}
	if grace >= *was {
		return *was, true
	}
	earlier := metav1.NewTime(at.Add(time.Duration(grace-*was) * time.Second))
	obj.SetDeletionTimestamp(&earlier)
	obj.SetDeletionGracePeriodSeconds(&grace)
	return grace, false
}

// garbageFinalizers is obj's finalizers with those that the propagation policy asks the garbage collector to honour:
// "orphan" releases the dependents first, "foregroundDeletion" deletes them first.
func (e *Endpoint) garbageFinalizers(obj object.Object, options *metav1.DeleteOptions) []string {
	was := obj.GetFinalizers()
	policy := e.propagation(was, options)
	var want string
	switch policy {
	case metav1.DeletePropagationOrphan:
		want = metav1.FinalizerOrphanDependents
	case metav1.DeletePropagationForeground:
		want = metav1.FinalizerDeleteDependents
	}
	var out []string
	for _, f := range was {
		if f == want || f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			out = append(out, f)
		}
	}
	if want != "" && !slices.Contains(out, want) {
		out = append(out, want)
	}
	return out
}

// propagation is the policy: what the request says, else what a finalizer says, else the kind's default.
func (e *Endpoint) propagation(finalizers []string, options *metav1.DeleteOptions) metav1.DeletionPropagation {
	//lint:ignore SA1019 orphanDependents is what old clients send
	if o := options.OrphanDependents; o != nil {
		if *o {
			return metav1.DeletePropagationOrphan
		}
		return metav1.DeletePropagationBackground
	}
	if p := options.PropagationPolicy; p != nil {
		return *p
	}
	for _, f := range finalizers {
		switch f {
		case metav1.FinalizerOrphanDependents:
			return metav1.DeletePropagationOrphan
		case metav1.FinalizerDeleteDependents:
			return metav1.DeletePropagationForeground
		}
	}
	return e.kind.DefaultPropagation
}
