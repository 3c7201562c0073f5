package endpoint

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/warning"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

var metadataPath = field.NewPath("metadata")

// validateNew returns the 422 that names all that is wrong with a new object.
func (e *Endpoint) validateNew(ctx context.Context, obj object.Object) (err error) {
	ctx, span := e.set.tracer.Start(ctx, "validate")
	defer func() { telemetry.End(span, err) }()
	check := e.kind.NameCheck
	if check == nil {
		check = apivalidation.NameIsDNSSubdomain
	}
	errs := apivalidation.ValidateObjectMetaAccessor(obj, e.kind.Namespaced, check, metadataPath)
	if e.kind.Validate != nil {
		errs = append(errs, e.kind.Validate(ctx, obj)...)
	}
	if len(errs) > 0 {
		return e.invalid(obj.GetName(), errs)
	}
	e.warn(ctx, obj, nil)
	return nil
}

// validateChange returns the 422 that names all that is wrong with what an update makes of old. Each subresource has its own
// rules, those of the metadata are common.
func (e *Endpoint) validateChange(ctx context.Context, subresource string, obj, old object.Object) (err error) {
	ctx, span := e.set.tracer.Start(ctx, "validate")
	defer func() { telemetry.End(span, err) }()
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(obj, old, metadataPath)
	switch subresource {
	case "", "scale":
		if e.kind.ValidateUpdate != nil {
			errs = append(errs, e.kind.ValidateUpdate(ctx, obj, old)...)
		} else if e.kind.Validate != nil {
			errs = append(errs, e.kind.Validate(ctx, obj)...)
		}
	case "status", "approval":
		if e.kind.ValidateStatus != nil {
			errs = append(errs, e.kind.ValidateStatus(ctx, obj, old)...)
		}
	default:
		if e.kind.ValidatePart != nil {
			errs = append(errs, e.kind.ValidatePart(ctx, subresource, obj, old)...)
		}
	}
	if len(errs) > 0 {
		return e.invalid(obj.GetName(), errs)
	}
	if subresource == "" {
		e.warn(ctx, obj, old)
	}
	return nil
}

func (e *Endpoint) warn(ctx context.Context, obj, old object.Object) {
	if e.kind.Warnings == nil {
		return
	}
	for _, text := range e.kind.Warnings(ctx, obj, old) {
		warning.Add(ctx, text)
	}
}

func (e *Endpoint) invalid(name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(e.group, name, errs)
}
