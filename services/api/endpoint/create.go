package endpoint

import (
	"context"
	"errors"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/orrery-io/orrery/services/api/admission"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
)

// Names from generateName: a base cut to leave room, and five characters that form no words.
const (
	maxNameLength  = 63
	suffixLength   = 5
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
	nameAttempts   = 8
)

// generateName appends a random suffix. The names are public, so the generator need not be secret.
func generateName(base string) string {
	if len(base) > maxNameLength-suffixLength {
		base = base[:maxNameLength-suffixLength]
	}
	b := append(make([]byte, 0, len(base)+suffixLength), base...)
	for range suffixLength {
		b = append(b, suffixAlphabet[rand.N(len(suffixAlphabet))])
	}
	return string(b)
}

// Create implements Interface.
func (e *Endpoint) Create(ctx context.Context, namespace string, obj object.Object, options metav1.CreateOptions) (*object.Entry, error) {
	if errs := metavalidation.ValidateCreateOptions(&options); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "CreateOptions"}, "", errs)
	}
	if obj.GetResourceVersion() != "" && obj.GetResourceVersion() != "0" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if e.kind.Default != nil {
		e.kind.Default(obj)
	}
	dryRun := len(options.DryRun) > 0
	generated, err := e.prepareNew(ctx, namespace, obj, dryRun)
	if err != nil {
		return nil, err
	}
	held := claims{kind: e.kind}
	if err := held.take(ctx, obj, nil); err != nil {
		return nil, err
	}
	entry, err := e.insertNamed(ctx, namespace, obj, dryRun, generated)
	held.settle(ctx, err, dryRun)
	if err != nil {
		return nil, e.fail(obj.GetName(), err)
	}
	return e.view(entry)
}

// insertNamed is insert with other names while the generated ones are taken.
func (e *Endpoint) insertNamed(ctx context.Context, namespace string, obj object.Object, dryRun, generated bool) (*object.Entry, error) {
	for attempt := 1; ; attempt++ {
		entry, err := e.insert(ctx, namespace, obj, dryRun)
		switch {
		case !errors.Is(err, storage.ErrExists) || !generated:
			return entry, err
		case attempt == nameAttempts:
			return nil, apierrors.NewGenerateNameConflict(e.resource, obj.GetName(), 1)
		}
		obj.SetName(generateName(obj.GetGenerateName()))
	}
}

// prepareNew brings a defaulted object into the shape that is stored, and checks it. generated says that its name was made up.
func (e *Endpoint) prepareNew(ctx context.Context, namespace string, obj object.Object, dryRun bool) (generated bool, err error) {
	if err := e.placeIn(namespace, obj); err != nil {
		return false, err
	}
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	obj.SetManagedFields(nil)
	obj.SetSelfLink("")
	obj.SetUID(uuid.NewUUID())
	// Times are kept to the second: what is returned now must be what is read later.
	obj.SetCreationTimestamp(metav1.NewTime(e.set.clock.Now()).Rfc3339Copy())
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		obj.SetName(generateName(obj.GetGenerateName()))
		generated = true
	}
	a := &admission.Attributes{Kind: e.kind, Operation: admission.Create, Namespace: namespace, Name: obj.GetName(), Object: obj, DryRun: dryRun}
	if err := e.set.admit.Mutate(ctx, a); err != nil {
		return false, err
	}
	obj.SetGeneration(0)
	if e.kind.HasGeneration {
		obj.SetGeneration(1)
	}
	if !e.kind.StatusOnCreate && e.kind.HasStatus {
		e.shape.clearStatus(obj)
	}
	if e.kind.PrepareCreate != nil {
		e.kind.PrepareCreate(ctx, obj)
	}
	if err := e.validateNew(ctx, obj); err != nil {
		return false, err
	}
	return generated, e.set.admit.Validate(ctx, a)
}

// placeIn makes the object's namespace that of the request.
func (e *Endpoint) placeIn(namespace string, obj object.Object) error {
	if !e.kind.Namespaced {
		obj.SetNamespace("")
		return nil
	}
	if namespace == "" {
		return apierrors.NewBadRequest("an empty namespace may not be set during creation")
	}
	switch obj.GetNamespace() {
	case namespace:
	case "":
		obj.SetNamespace(namespace)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// insert writes a prepared object, or with dryRun only finds out whether it could.
func (e *Endpoint) insert(ctx context.Context, namespace string, obj object.Object, dryRun bool) (*object.Entry, error) {
	key := e.key(namespace, obj.GetName())
	stored, err := e.toStored(obj)
	if err != nil {
		return nil, err
	}
	if !dryRun {
		return e.set.store.Create(ctx, e.codec, key, stored, e.ttl(obj))
	}
	switch _, err := e.set.store.Get(ctx, e.codec, key); {
	case err == nil:
		return nil, storage.ErrExists
	case !errors.Is(err, storage.ErrNotFound):
		return nil, err
	}
	return e.set.store.Rehearse(e.codec, key, stored, nil)
}

func (e *Endpoint) ttl(obj object.Object) int64 {
	if e.kind.TTLSeconds == nil {
		return 0
	}
	return e.kind.TTLSeconds(obj)
}
