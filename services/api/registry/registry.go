package registry

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/internal/kinds"
)

// All is the entry of every kind in services/internal/kinds, in no particular order, for a registry that hands out no
// addresses and ports: see NewAll.
func All() []*Kind { return NewAll(Options{}) }

// NewAll is the entry of every kind in services/internal/kinds, in no particular order.
func NewAll(o Options) []*Kind {
	return slices.Concat(
		podKinds(o), workloadKinds(o), namespaceKinds(o), nodeKinds(o), configKinds(o), serviceKinds(o), eventKinds(o),
		volumeKinds(o), limitKinds(o), virtualKinds(o),
		appsKinds(o), batchKinds(o), autoscalingKinds(o), networkingKinds(o), policyKinds(o), rbacKinds(o), storageKinds(o),
		coordinationKinds(o), discoveryKinds(o), schedulingKinds(o), nodeAPIKinds(o), admissionKinds(o), certificateKinds(o),
		extensionKinds(o), flowControlKinds(o), resourceKinds(o),
	)
}

// rules are a Kind's functions over its own Go type, so that entries read without type assertions.
type rules[P object.Object] struct {
	NotStored bool

	Default        func(obj P)
	PrepareCreate  func(ctx context.Context, obj P)
	PrepareUpdate  func(ctx context.Context, obj, old P)
	Validate       func(obj P) field.ErrorList
	ValidateUpdate func(obj, old P) field.ErrorList
	ValidateStatus func(obj, old P) field.ErrorList
	ValidatePart   func(subresource string, obj, old P) field.ErrorList
	Claim          func(ctx context.Context, obj, old P) (undo func(), err error)
	Release        func(ctx context.Context, old, obj P)
	Warnings       func(obj, old P) []string
	NameCheck      func(name string, prefix bool) []string

	Graceful           func(obj P, options *metav1.DeleteOptions) int64
	DefaultPropagation metav1.DeletionPropagation
	HoldDeletion       func(obj P) bool
	BeginDeletion      func(obj P)

	HasGeneration            bool
	AllowUnconditionalUpdate bool
	AllowCreateOnUpdate      bool

	StatusOnCreate      bool
	PrepareStatus       func(ctx context.Context, obj, old P)
	StatusKeepsMetadata bool
	TTLSeconds          func(obj P) int64
	IndexField          string
	IndexValue          func(obj P) string

	Fields     func(obj P) fields.Set
	FieldNames []string

	Columns []metav1.TableColumnDefinition
	Row     func(obj P) []any

	GetScale func(obj P) (specReplicas, statusReplicas int32, selector string)
	SetScale func(obj P, replicas int32)

	Alias *Alias
}

type objectPointer[T any] interface {
	*T
	object.Object
}

type listPointer[T any] interface {
	*T
	runtime.Object
}

// entry makes the Kind of one resource from its rules. L is the list's Go type; the object's is that of the rules.
func entry[L listPointer[U], P objectPointer[T], T, U any](group, version, plural string, r rules[P]) *Kind {
	named, _ := kinds.ByResource(group, version, plural)
	k := &Kind{
		Kind:      named,
		NotStored: r.NotStored,
		New:       func() object.Object { return P(new(T)) },
		NewList:   func() runtime.Object { return L(new(U)) },

		NameCheck:                r.NameCheck,
		DefaultPropagation:       r.DefaultPropagation,
		HasGeneration:            r.HasGeneration,
		AllowUnconditionalUpdate: r.AllowUnconditionalUpdate,
		AllowCreateOnUpdate:      r.AllowCreateOnUpdate,
		StatusOnCreate:           r.StatusOnCreate,
		StatusKeepsMetadata:      r.StatusKeepsMetadata,
		IndexField:               r.IndexField,
		FieldNames:               r.FieldNames,
		Columns:                  r.Columns,
		Alias:                    r.Alias,
	}
	r.addWrites(k)
	r.addReads(k)
	return k
}

// addWrites gives k the functions that take part in writes.
func (r rules[P]) addWrites(k *Kind) {
	if f := r.Default; f != nil {
		k.Default = func(obj object.Object) { f(obj.(P)) }
	}
	if f := r.PrepareCreate; f != nil {
		k.PrepareCreate = func(ctx context.Context, obj object.Object) { f(ctx, obj.(P)) }
	}
	if f := r.PrepareUpdate; f != nil {
		k.PrepareUpdate = func(ctx context.Context, obj, old object.Object) { f(ctx, obj.(P), old.(P)) }
	}
	if f := r.PrepareStatus; f != nil {
		k.PrepareStatus = func(ctx context.Context, obj, old object.Object) { f(ctx, obj.(P), old.(P)) }
	}
	if f := r.TTLSeconds; f != nil {
		k.TTLSeconds = func(obj object.Object) int64 { return f(obj.(P)) }
	}
	if f := r.IndexValue; f != nil {
		k.IndexValue = func(obj object.Object) string { return f(obj.(P)) }
	}
	if f := r.Validate; f != nil {
		k.Validate = func(_ context.Context, obj object.Object) field.ErrorList { return f(obj.(P)) }
	}
	if f := r.ValidateUpdate; f != nil {
		k.ValidateUpdate = func(_ context.Context, obj, old object.Object) field.ErrorList { return f(obj.(P), old.(P)) }
	}
	if f := r.ValidateStatus; f != nil {
		k.ValidateStatus = func(_ context.Context, obj, old object.Object) field.ErrorList { return f(obj.(P), old.(P)) }
	}
	if f := r.ValidatePart; f != nil {
		k.ValidatePart = func(_ context.Context, subresource string, obj, old object.Object) field.ErrorList {
			return f(subresource, obj.(P), old.(P))
		}
	}
	r.addClaims(k)
	if f := r.Warnings; f != nil {
		k.Warnings = func(_ context.Context, obj, old object.Object) []string {
			was, _ := old.(P)
			return f(obj.(P), was)
		}
	}
	if f := r.Graceful; f != nil {
		k.Graceful = func(_ context.Context, obj object.Object, options *metav1.DeleteOptions) int64 {
			return f(obj.(P), options)
		}
	}
	if f := r.HoldDeletion; f != nil {
		k.HoldDeletion = func(obj object.Object) bool { return f(obj.(P)) }
	}
	if f := r.BeginDeletion; f != nil {
		k.BeginDeletion = func(obj object.Object) { f(obj.(P)) }
	}
}

// addClaims gives k the functions that reserve. A missing object is P's nil.
func (r rules[P]) addClaims(k *Kind) {
	if f := r.Claim; f != nil {
		k.Claim = func(ctx context.Context, obj, old object.Object) (func(), error) {
			was, _ := old.(P)
			return f(ctx, obj.(P), was)
		}
	}
	if f := r.Release; f != nil {
		k.Release = func(ctx context.Context, old, obj object.Object) {
			is, _ := obj.(P)
			f(ctx, old.(P), is)
		}
	}
}

// addReads gives k the functions that show objects.
func (r rules[P]) addReads(k *Kind) {
	if f := r.Fields; f != nil {
		k.SelectableFields = func(obj object.Object) fields.Set { return f(obj.(P)) }
	}
	if f := r.Row; f != nil {
		k.Row = func(obj object.Object) ([]any, error) { return f(obj.(P)), nil }
	}
	if r.GetScale != nil && r.SetScale != nil {
		k.Scale = &Scale{
			Get: func(obj object.Object) (int32, int32, string) { return r.GetScale(obj.(P)) },
			Set: func(obj object.Object, replicas int32) { r.SetScale(obj.(P), replicas) },
		}
	}
}
