package endpoint

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/admission"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
)

const modifiedMeanwhile = "the object has been modified; please apply your changes to the latest version and try again"

// change is one update on its way: Update, Patch, scale and binding differ only in how they make the new object.
type change struct {
	namespace, name, subresource string
	dryRun                       bool
	// create permits making an object that is not there, from make(nil).
	create bool
	// unconditional permits a new object without a resourceVersion.
	unconditional bool
	// make returns the new object, which is nobody else's, from the present one, which may not be changed.
	make func(ctx context.Context, old *object.Entry) (object.Object, error)
}

// Update implements Interface.
func (e *Endpoint) Update(ctx context.Context, namespace, name, subresource string, obj object.Object, options metav1.UpdateOptions) (*object.Entry, bool, error) {
	if errs := metavalidation.ValidateUpdateOptions(&options); len(errs) > 0 {
		return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "UpdateOptions"}, "", errs)
	}
	if err := e.hasSubresource(subresource); err != nil {
		return nil, false, err
	}
	if err := e.sameName(namespace, name, obj); err != nil {
		return nil, false, err
	}
	if subresource == "scale" {
		entry, err := e.updateScale(ctx, namespace, name, obj, len(options.DryRun) > 0)
		return entry, false, err
	}
	if e.kind.Default != nil {
		e.kind.Default(obj)
	}
	// A condition on the version is settled by the first attempt that meets it, so that obj serves for one; without a
	// condition each attempt needs its own.
	again, version, spent := unversioned(obj), obj.GetResourceVersion(), false
	return e.write(ctx, change{
		namespace: namespace, name: name, subresource: subresource, dryRun: len(options.DryRun) > 0,
		create: e.kind.AllowCreateOnUpdate && subresource == "", unconditional: e.kind.AllowUnconditionalUpdate,
		make: func(_ context.Context, old *object.Entry) (object.Object, error) {
			switch {
			case again:
				return deepCopy(obj), nil
			case spent:
				return nil, e.conflict(name, modifiedMeanwhile)
			}
			spent = old == nil || old.Object.GetResourceVersion() == version
			return obj, nil
		},
	})
}

func unversioned(obj object.Object) bool {
	rv := obj.GetResourceVersion()
	return rv == "" || rv == "0"
}

// sameName compares the object's name and namespace with those of the request, and fills in the namespace.
func (e *Endpoint) sameName(namespace, name string, obj object.Object) error {
	if obj.GetName() != name {
		if obj.GetName() == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", name))
		}
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), name))
	}
	if !e.kind.Namespaced {
		obj.SetNamespace("")
		return nil
	}
	switch obj.GetNamespace() {
	case namespace:
	case "":
		obj.SetNamespace(namespace)
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("the namespace of the object (%s) does not match the namespace on the request (%s)", obj.GetNamespace(), namespace))
	}
	return nil
}

// write runs a change against the present version until one of them is stored.
func (e *Endpoint) write(ctx context.Context, c change) (entry *object.Entry, created bool, err error) {
	key := e.key(c.namespace, c.name)
	held := claims{kind: e.kind}
	r, err := e.set.store.Update(ctx, e.codec, key, e.cache.Peek(key), func(stored *object.Entry) (storage.Change, error) {
		held.giveBack()
		if stored == nil {
			return e.createByUpdate(ctx, c, &held)
		}
		cur, err := e.view(stored)
		if err != nil {
			return storage.Change{}, err
		}
		obj, err := c.make(ctx, cur)
		if err != nil {
			return storage.Change{}, err
		}
		return e.replace(ctx, c, obj, cur.Object, &held)
	})
	held.settle(ctx, err, c.dryRun)
	if err != nil {
		return nil, false, e.fail(c.name, err)
	}
	entry, err = e.view(r.Entry)
	return entry, r.Created, err
}

// createByUpdate is what an update does that finds nothing.
func (e *Endpoint) createByUpdate(ctx context.Context, c change, held *claims) (storage.Change, error) {
	if !c.create {
		return storage.Change{}, e.notFound(c.name)
	}
	obj, err := c.make(ctx, nil)
	if err != nil {
		return storage.Change{}, err
	}
	if uid := obj.GetUID(); uid != "" {
		return storage.Change{}, e.otherUID(c.name, uid, "")
	}
	obj.SetResourceVersion("")
	if _, err := e.prepareNew(ctx, c.namespace, obj, c.dryRun); err != nil {
		return storage.Change{}, err
	}
	if err := held.take(ctx, obj, nil); err != nil {
		return storage.Change{}, err
	}
	return e.store(obj, c.dryRun, false)
}

func (e *Endpoint) store(obj object.Object, dryRun, gone bool) (storage.Change, error) {
	ttl := e.ttl(obj)
	stored, err := e.toStored(obj)
	return storage.Change{Object: stored, Delete: gone, DryRun: dryRun, TTLSeconds: ttl}, err
}

// replace decides what becomes of old, given the new object of the request.
func (e *Endpoint) replace(ctx context.Context, c change, obj, old object.Object, held *claims) (storage.Change, error) {
	if uid := obj.GetUID(); uid != "" && uid != old.GetUID() {
		return storage.Change{}, e.otherUID(c.name, uid, old.GetUID())
	}
	switch {
	case unversioned(obj):
		if !c.unconditional {
			errs := field.ErrorList{field.Invalid(metadataPath.Child("resourceVersion"), 0, "must be specified for an update")}
			return storage.Change{}, apierrors.NewInvalid(schema.GroupKind{Group: e.resource.Group, Kind: e.resource.Resource}, c.name, errs)
		}
		obj.SetResourceVersion(old.GetResourceVersion())
	case obj.GetResourceVersion() != old.GetResourceVersion():
		return storage.Change{}, e.conflict(c.name, modifiedMeanwhile)
	}
	a := &admission.Attributes{
		Kind: e.kind, Operation: admission.Update, Namespace: c.namespace, Name: c.name, Subresource: c.subresource,
		Object: obj, Old: old, DryRun: c.dryRun,
	}
	if err := e.set.admit.Mutate(ctx, a); err != nil {
		return storage.Change{}, err
	}
	obj = e.prepareChange(ctx, c.subresource, obj, old)
	if err := e.validateChange(ctx, c.subresource, obj, old); err != nil {
		return storage.Change{}, err
	}
	a.Object = obj
	if err := e.set.admit.Validate(ctx, a); err != nil {
		return storage.Change{}, err
	}
	if e.lastFinalizerGone(obj, old) {
		_ = held.take(ctx, nil, old) // takes nothing
		return e.store(obj, c.dryRun, true)
	}
	if c.subresource == "" {
		if err := held.take(ctx, obj, old); err != nil {
			return storage.Change{}, err
		}
	}
	return e.store(obj, c.dryRun, false)
}

// prepareChange is the object that is stored: what the request may change, and old's for the rest.
func (e *Endpoint) prepareChange(ctx context.Context, subresource string, obj, old object.Object) object.Object {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		obj.SetCreationTimestamp(created)
	}
	if t := old.GetDeletionTimestamp(); t != nil {
		obj.SetDeletionTimestamp(t)
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	}
	obj.SetGeneration(old.GetGeneration())
	obj.SetManagedFields(nil)
	obj.SetSelfLink("")
	switch subresource {
	case "", "scale":
		if e.kind.HasStatus {
			from := old
			if e.kind.PrepareUpdate != nil {
				// It may change what it is given.
				from = deepCopy(old)
			}
			e.shape.copyStatus(obj, from)
		}
		if e.kind.PrepareUpdate != nil {
			e.kind.PrepareUpdate(ctx, obj, old)
		}
	case "status":
		obj = e.shape.withMetaAndStatus(old, obj)
		if e.kind.StatusKeepsMetadata {
			obj.SetLabels(old.GetLabels())
			obj.SetAnnotations(old.GetAnnotations())
			obj.SetFinalizers(old.GetFinalizers())
			obj.SetOwnerReferences(old.GetOwnerReferences())
		}
		if e.kind.PrepareStatus != nil {
			e.kind.PrepareStatus(ctx, obj, old)
		}
	default:
		obj = preparePart(subresource, obj, old)
	}
	if e.kind.HasGeneration && subresource != "status" && obj.GetGeneration() == old.GetGeneration() && !e.shape.sameRest(obj, old) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	return obj
}

// lastFinalizerGone says whether an update ends a deletion that only waited for finalizers.
func (e *Endpoint) lastFinalizerGone(obj, old object.Object) bool {
	if len(obj.GetFinalizers()) > 0 || old.GetDeletionTimestamp() == nil {
		return false
	}
	if e.kind.HoldDeletion != nil && e.kind.HoldDeletion(obj) {
		return false
	}
	grace := old.GetDeletionGracePeriodSeconds()
	return grace == nil && e.kind.Graceful == nil || grace != nil && *grace == 0
}

func (e *Endpoint) conflict(name, why string) error {
	return apierrors.NewConflict(e.resource, name, fmt.Errorf("%s", why))
}

func (e *Endpoint) otherUID(name string, asked, is types.UID) error {
	return e.conflict(name, fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", asked, is))
}

func (e *Endpoint) hasSubresource(subresource string) error {
	if subresource == "" || e.NewSubresource(subresource) != nil && e.kind.HasSubresource(subresource) {
		return nil
	}
	return apierrors.NewGenericServerResponse(404, "", schema.GroupResource{}, "", "", 0, true)
}
