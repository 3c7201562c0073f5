package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/warning"
)

// Limits of a JSON patch, as in Kubernetes: each operation costs time, each copy may double the document.
const (
	maxPatchOperations = 10000
	maxPatchCopies     = 3 << 20
)

func init() { jsonpatch.AccumulatedCopySizeLimit = maxPatchCopies }

// Patch implements Interface.
func (e *Endpoint) Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte, options metav1.PatchOptions) (*object.Entry, bool, error) {
	if kind != types.JSONPatchType && kind != types.MergePatchType && kind != types.StrategicMergePatchType {
		return nil, false, unsupportedPatch(kind)
	}
	if errs := metavalidation.ValidatePatchOptions(&options, kind); len(errs) > 0 {
		return nil, false, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "PatchOptions"}, "", errs)
	}
	if err := e.hasSubresource(subresource); err != nil {
		return nil, false, err
	}
	p := &patcher{kind: kind, patch: patch, validation: options.FieldValidation}
	if err := p.check(ctx); err != nil {
		return nil, false, err
	}
	dryRun := len(options.DryRun) > 0
	if subresource == "scale" {
		entry, err := e.patchScale(ctx, namespace, name, p, dryRun)
		return entry, false, err
	}
	return e.write(ctx, change{
		namespace: namespace, name: name, subresource: subresource, dryRun: dryRun, unconditional: true,
		make: func(ctx context.Context, old *object.Entry) (object.Object, error) {
			obj := e.kind.New()
			if err := p.apply(ctx, old, obj); err != nil {
				return nil, err
			}
			obj.GetObjectKind().SetGroupVersionKind(e.shown.Kind())
			if e.kind.Default != nil {
				e.kind.Default(obj)
			}
			return obj, e.sameName(namespace, name, obj)
		},
	})
}

func unsupportedPatch(kind types.PatchType) error {
	return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", schema.GroupResource{}, "",
		fmt.Sprintf("the body of the request was in an unknown format (%s) - accepted media types include: %s, %s, %s",
			kind, types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType), 0, false)
}

// patcher is a patch to be applied to whatever version turns out to be the present one.
type patcher struct {
	kind       types.PatchType
	patch      []byte
	validation string
	operations jsonpatch.Patch
	// strict are fields that the patch itself has twice.
	strict []error
}

func (p *patcher) isStrict() bool {
	return p.validation == metav1.FieldValidationStrict || p.validation == metav1.FieldValidationWarn
}

// check parses what does not depend on the object.
func (p *patcher) check(ctx context.Context) error {
	var doc any
	switch p.kind {
	case types.JSONPatchType:
		doc = &[]any{}
	default:
		doc = &map[string]any{}
	}
	var err error
	if p.isStrict() {
		p.strict, err = kjson.UnmarshalStrict(p.patch, doc)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.patch, doc)
	}
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if p.kind != types.JSONPatchType {
		return nil
	}
	if p.operations, err = jsonpatch.DecodePatch(p.patch); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if n := len(p.operations); n > maxPatchOperations {
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxPatchOperations, n))
	}
	return nil
}

// apply writes the patched old into obj, which is empty and of old's kind. The patch libraries panic on some documents (a JSON
// patch that replaces the whole by nothing), which is the document's fault.
func (p *patcher) apply(ctx context.Context, old *object.Entry, obj object.Object) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = p.invalid(string(p.patch), fmt.Errorf("the patch cannot be applied: %v", r))
		}
	}()
	return p.applyTo(ctx, old, obj)
}

func (p *patcher) applyTo(ctx context.Context, old *object.Entry, obj object.Object) error {
	if p.kind == types.StrategicMergePatchType {
		return p.applyStrategic(ctx, old, obj)
	}
	original, err := old.JSON()
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	var patched []byte
	if p.kind == types.JSONPatchType {
		patched, err = p.operations.Apply(original)
		if err != nil {
			return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
	} else {
		patched, err = jsonpatch.MergePatch(original, p.patch)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	strict, err := kjson.UnmarshalStrict(patched, obj)
	if err != nil {
		return p.invalid(string(patched), err)
	}
	return p.report(ctx, string(patched), strict)
}

// applyStrategic merges lists by their keys, as the Go type's tags say.
func (p *patcher) applyStrategic(ctx context.Context, old *object.Entry, obj object.Object) error {
	original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(old.Object)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	// The merge changes the patch, so each attempt has its own.
	patch := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(p.patch, &patch); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(original, patch, obj)
	if err != nil {
		return mergeError(err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, obj, p.isStrict())
	if err == nil {
		return p.report(ctx, string(p.patch), nil)
	}
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return p.invalid(string(p.patch), err)
	}
	return p.report(ctx, string(p.patch), strict.Errors())
}

// mergeError is a strategic merge's error as a client is told of it: a patch that is no patch, or one that does not fit the object.
func mergeError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys), errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, mergepatch.ErrNoListOfLists):
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return apierrors.NewBadRequest(err.Error())
}

// report refuses unknown and duplicate fields, or warns of them, as the request asked.
func (p *patcher) report(ctx context.Context, doc string, strict []error) error {
	if !p.isStrict() {
		return nil
	}
	all := append(append([]error(nil), p.strict...), strict...)
	if len(all) == 0 {
		return nil
	}
	if p.validation == metav1.FieldValidationWarn {
		for _, err := range all {
			warning.Add(ctx, err.Error())
		}
		return nil
	}
	return p.invalid(doc, runtime.NewStrictDecodingError(all))
}

func (p *patcher) invalid(doc string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), doc, err.Error())})
}
