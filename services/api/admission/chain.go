package admission

import (
	"context"

	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Operation is what is done.
type Operation string

// Operations.
const (
	Create Operation = "CREATE"
	Update Operation = "UPDATE"
	Delete Operation = "DELETE"
)

// Attributes are one write. A plugin may change Object in Mutate and nothing else.
type Attributes struct {
	Kind        *registry.Kind
	Operation   Operation
	Namespace   string
	Name        string
	Subresource string
	// Object is the new object; nil for a deletion. Where a subresource has a kind of its own (binding, eviction) it is of that kind.
	Object object.Object
	// Old is the present one; nil for a creation and for the deletion of a collection.
	Old    object.Object
	DryRun bool
}

// Resource is the resource in error texts.
func (a *Attributes) Resource() schema.GroupResource {
	return schema.GroupResource{Group: a.Kind.Group, Resource: a.Kind.Plural}
}

// Forbid is the 403 that refuses the write because of reason.
func (a *Attributes) Forbid(reason error) *apierrors.StatusError {
	return apierrors.NewForbidden(a.Resource(), a.Name, reason)
}

// Plugin is a member of the chain; it implements Mutating, Validating or both.
type Plugin interface {
	// Name is the plugin's name as it is configured, e.g. "NamespaceLifecycle".
	Name() string
	Handles(op Operation) bool
}

// Mutating plugins run before the object is prepared and validated. An error refuses the write; it is a *StatusError.
type Mutating interface {
	Plugin
	Mutate(ctx context.Context, a *Attributes) error
}

// Validating plugins run on what is going to be stored.
type Validating interface {
	Plugin
	Validate(ctx context.Context, a *Attributes) error
}

// Chain is the plugins in their order. A nil Chain admits everything.
type Chain struct {
	mutating   []Mutating
	validating []Validating
	tracer     trace.Tracer
}

// NewChain makes a chain of plugins.
func NewChain(plugins ...Plugin) *Chain {
	c := &Chain{tracer: telemetry.Tracer("api")}
	for _, p := range plugins {
		if m, ok := p.(Mutating); ok {
			c.mutating = append(c.mutating, m)
		}
		if v, ok := p.(Validating); ok {
			c.validating = append(c.validating, v)
		}
	}
	return c
}

// Mutate runs the mutating plugins; the first error ends it.
func (c *Chain) Mutate(ctx context.Context, a *Attributes) (err error) {
	if c == nil || len(c.mutating) == 0 {
		return nil
	}
	ctx, span := c.tracer.Start(ctx, "admission mutate")
	defer func() { telemetry.End(span, err) }()
	for _, p := range c.mutating {
		if p.Handles(a.Operation) {
			span.AddEvent(p.Name())
			if err := p.Mutate(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// Validate runs the validating plugins; the first error ends it.
func (c *Chain) Validate(ctx context.Context, a *Attributes) (err error) {
	if c == nil || len(c.validating) == 0 {
		return nil
	}
	ctx, span := c.tracer.Start(ctx, "admission validate")
	defer func() { telemetry.End(span, err) }()
	for _, p := range c.validating {
		if p.Handles(a.Operation) {
			span.AddEvent(p.Name())
			if err := p.Validate(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}
