package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/internal/kinds"
)

// Kind is all that the api knows about one resource beyond its name. A nil function means that the kind has nothing
// to add to what the endpoint does for every kind.
type Kind struct {
	kinds.Kind

	// NotStored marks a kind that no object is kept of: reviews and bindings, which are answered when they are created, and
	// component statuses, which are computed. The endpoint has nothing to do with them.
	NotStored bool

	// New and NewList make an empty object and an empty list.
	New     func() object.Object
	NewList func() runtime.Object

	// Default fills in Kubernetes' default values; it runs on every object that a request brings, after decoding.
	Default func(obj object.Object)
	// PrepareCreate and PrepareUpdate bring the object into the shape that is stored, after Default: fields that the caller may not
	// set are dropped. The endpoint itself handles metadata, and for a kind with status: it clears status on create,
	// keeps the old one on update, keeps everything but status (and metadata.managedFields) on a status update, and raises
	// generation when anything outside metadata and status changes.
	PrepareCreate func(ctx context.Context, obj object.Object)
	PrepareUpdate func(ctx context.Context, obj, old object.Object)
	// Validate, ValidateUpdate and ValidateStatus return every error in the object, in Kubernetes' words. Object metadata
	// is validated by the endpoint with NameCheck before them.
	Validate       func(ctx context.Context, obj object.Object) field.ErrorList
	ValidateUpdate func(ctx context.Context, obj, old object.Object) field.ErrorList
	ValidateStatus func(ctx context.Context, obj, old object.Object) field.ErrorList
	// ValidatePart is ValidateUpdate for the subresources that show part of the object, such as "ephemeralcontainers".
	ValidatePart func(ctx context.Context, subresource string, obj, old object.Object) field.ErrorList
	// Claim reserves for obj, which is valid and about to be stored, what only one object in the cluster may have, and
	// writes it into obj: a service's addresses. old is nil on create. undo gives back what this call reserved; it is for writes that are
	// known to have failed. The error is a *StatusError.
	Claim func(ctx context.Context, obj, old object.Object) (undo func(), err error)
	// Release gives back what old had and obj has not any more; obj is nil when old was deleted. It runs after the write.
	Release func(ctx context.Context, old, obj object.Object)
	// Warnings are shown to the user, who is not stopped by them.
	Warnings func(ctx context.Context, obj, old object.Object) []string
	// NameCheck says what is wrong with a name (prefix: it is a generateName); nil means a DNS-1123 subdomain.
	NameCheck func(name string, prefix bool) []string

	// Graceful, when set, decides the grace period of a deletion and may change the object that stays until it is over:
	// see GraceDecision. nil means that the kind is deleted at once.
	Graceful func(ctx context.Context, obj object.Object, options *metav1.DeleteOptions) (seconds int64)
	// DefaultPropagation is what a delete without a propagation policy means; "" is Background.
	DefaultPropagation metav1.DeletionPropagation
	// HoldDeletion says whether something besides metadata.finalizers keeps an object that is being deleted: a namespace's
	// spec.finalizers. BeginDeletion changes the object in the write that sets its deletionTimestamp: a namespace's phase.
	HoldDeletion  func(obj object.Object) bool
	BeginDeletion func(obj object.Object)
	// HasGeneration is set where Kubernetes counts generations in metadata.generation; objects of the other kinds have none.
	HasGeneration bool
	// AllowUnconditionalUpdate permits updates without a resourceVersion; AllowCreateOnUpdate makes PUT create.
	AllowUnconditionalUpdate bool
	AllowCreateOnUpdate      bool

	// StatusOnCreate keeps the status that a create brings (a node registers itself with one).
	StatusOnCreate bool
	// PrepareStatus runs on a status update, after the endpoint has put everything but metadata and status back to old's.
	PrepareStatus func(ctx context.Context, obj, old object.Object)
	// StatusKeepsMetadata makes a status update keep labels, annotations, finalizers and owner references as they are.
	StatusKeepsMetadata bool

	// TTLSeconds is how long an object lives after its last write (events: one hour); nil or 0 means for ever.
	TTLSeconds func(obj object.Object) int64

	// IndexField names the one selectable field whose exact matches the watch cache answers from an index (pods:
	// "spec.nodeName"), and IndexValue reads it without making the whole set.
	IndexField string
	IndexValue func(obj object.Object) string

	// SelectableFields are what a field selector may use besides metadata.name and metadata.namespace.
	SelectableFields func(obj object.Object) fields.Set
	// FieldNames lists SelectableFields' names, so that an unknown one is refused.
	FieldNames []string

	// Columns and Row make the kind's table; without them the table has Name and Created At (Age).
	Columns []metav1.TableColumnDefinition
	Row     func(obj object.Object) ([]any, error)

	// Scale gives the kind a scale subresource.
	Scale *Scale

	// Alias is set on a kind that is another view of a stored one (events.k8s.io/v1 Event of v1 Event, autoscaling/v1
	// of v2): objects live under the stored kind's key, in the stored kind's version.
	Alias *Alias
}

// Alias converts between a view and the kind that is stored.
type Alias struct {
	// Group, Version and Plural name the stored kind.
	Group, Version, Plural string
	ToStored               func(view object.Object) (object.Object, error)
	FromStored             func(stored object.Object) (object.Object, error)
}

// Scale reads and writes what the scale subresource shows.
type Scale struct {
	// Get returns spec.replicas, status.replicas and the selector in its string form.
	Get func(obj object.Object) (specReplicas, statusReplicas int32, selector string)
	// Set changes spec.replicas of obj.
	Set func(obj object.Object, replicas int32)
}

// Prefix is where the kind's objects live in the store: "/registry/pods/", with the namespace and name to follow.
func (k *Kind) Prefix() string {
	if k.Alias != nil {
		return "/registry/" + k.Alias.Plural + "/"
	}
	return "/registry/" + k.Plural + "/"
}
