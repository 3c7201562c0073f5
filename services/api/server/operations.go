package server

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/object"
)

// answer is a finished body.
type answer struct {
	// code is the HTTP status, 0 for 200.
	code        int
	contentType string
	parts       [][]byte
	// headers are other response headers, by their names in lower case.
	headers map[string]string
}

// payload is an encoded object or patch from a client.
type payload struct {
	contentType string
	data        []byte
}

// show encodes the entry that a target's operation returned.
func (t target) show(f negotiate.Format, e *object.Entry, code int) (answer, error) {
	var parts [][]byte
	var err error
	if gvk := t.gvk(); gvk != t.view.GVK {
		// A subresource with a kind of its own has no views.
		f.As = ""
		parts, err = negotiate.Plain(e.Object, gvk).Encode(f)
	} else {
		parts, err = t.view.Encode(f, e)
	}
	return answer{code: code, contentType: f.ContentType(), parts: parts}, err
}

func showStatus(f negotiate.Format, s *metav1.Status, code int) (answer, error) {
	f.As = ""
	parts, err := negotiate.Status(s).Encode(f)
	return answer{code: code, contentType: f.ContentType(), parts: parts}, err
}

func (t target) get(ctx context.Context, options metav1.GetOptions, f negotiate.Format) (answer, error) {
	e, err := t.read(ctx, options)
	if err != nil {
		return answer{}, err
	}
	return t.show(f, e, 0)
}

func (t target) read(ctx context.Context, options metav1.GetOptions) (*object.Entry, error) {
	if err := t.check("get"); err != nil {
		return nil, err
	}
	if t.subresource == "" {
		return t.verbs.Get(ctx, t.namespace, t.name, options)
	}
	if t.verbs.NewSubresource(t.subresource) == nil {
		return nil, errNoSuchResource()
	}
	return t.verbs.GetSubresource(ctx, t.namespace, t.name, t.subresource, options)
}

// check is what every operation asks first: does the target support the verb, within its scope, and is it stored.
func (t target) check(verb string) error {
	if err := t.allows(verb); err != nil {
		return err
	}
	if err := t.needsNamespace(verb); err != nil {
		return err
	}
	if t.verbs == nil && (verb != "create" || t.answer == nil) {
		return errNoSuchResource()
	}
	return nil
}

func (t target) list(ctx context.Context, options metav1.ListOptions, f negotiate.Format, send func([][]byte) error) error {
	if err := t.check("list"); err != nil {
		return err
	}
	l, err := t.verbs.List(ctx, t.namespace, options)
	if err != nil {
		return err
	}
	return t.view.List(f, l, send)
}

// write stores a new object and says what was made of it; entry is nil where the answer is a Status or an object that is not stored.
func (t target) write(ctx context.Context, obj object.Object, options metav1.CreateOptions) (e *object.Entry, reply object.Object, err error) {
	if err := t.check("create"); err != nil {
		return nil, nil, err
	}
	switch {
	case t.verbs == nil:
		reply, err = t.answer(ctx, t.namespace, obj, options)
	case t.subresource != "":
		e, err = t.verbs.CreateSubresource(ctx, t.namespace, t.name, t.subresource, obj, options)
	default:
		e, err = t.verbs.Create(ctx, t.namespace, obj, options)
	}
	return e, reply, err
}

func (t target) create(ctx context.Context, d *negotiate.Decoder, body payload, options metav1.CreateOptions, f negotiate.Format) (answer, error) {
	if err := t.check("create"); err != nil {
		return answer{}, err
	}
	obj, err := t.decode(ctx, d, body, options.FieldValidation)
	if err != nil {
		return answer{}, err
	}
	e, reply, err := t.write(ctx, obj, options)
	switch {
	case err != nil:
		return answer{}, err
	case e != nil:
		return t.show(f, e, http.StatusCreated)
	case reply != nil:
		f.As = ""
		parts, err := negotiate.Plain(reply, t.view.GVK).Encode(f)
		return answer{code: http.StatusCreated, contentType: f.ContentType(), parts: parts}, err
	}
	return showStatus(f, created(), http.StatusCreated)
}

// created is the answer of subresources that have no object to show.
func created() *metav1.Status {
	return &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
}

func (t target) decode(ctx context.Context, d *negotiate.Decoder, body payload, fieldValidation string) (object.Object, error) {
	obj, err := t.newObject()
	if err != nil {
		return nil, err
	}
	return obj, d.Decode(ctx, body.data, body.contentType, t.gvk(), obj, fieldValidation)
}

func (t target) update(ctx context.Context, d *negotiate.Decoder, body payload, options metav1.UpdateOptions, f negotiate.Format) (answer, error) {
	if err := t.check("update"); err != nil {
		return answer{}, err
	}
	obj, err := t.decode(ctx, d, body, options.FieldValidation)
	if err != nil {
		return answer{}, err
	}
	e, isNew, err := t.verbs.Update(ctx, t.namespace, t.name, t.subresource, obj, options)
	if err != nil {
		return answer{}, err
	}
	return t.show(f, e, codeFor(isNew))
}

func (t target) patch(ctx context.Context, kind types.PatchType, patch []byte, options metav1.PatchOptions, f negotiate.Format) (answer, error) {
	e, isNew, err := t.applyPatch(ctx, kind, patch, options)
	if err != nil {
		return answer{}, err
	}
	return t.show(f, e, codeFor(isNew))
}

func (t target) applyPatch(ctx context.Context, kind types.PatchType, patch []byte, options metav1.PatchOptions) (*object.Entry, bool, error) {
	if err := t.check("patch"); err != nil {
		return nil, false, err
	}
	if t.verbs.NewSubresource(t.subresource) == nil {
		return nil, false, errNoSuchResource()
	}
	if err := negotiate.CheckSize(patch); err != nil {
		return nil, false, err
	}
	return t.verbs.Patch(ctx, t.namespace, t.name, t.subresource, kind, patch, options)
}

func codeFor(isNew bool) int {
	if isNew {
		return http.StatusCreated
	}
	return 0
}

// returnsDeleted are the resources whose delete answers with the object even when it is gone.
var returnsDeleted = map[string]bool{
	"pods": true, "podtemplates": true, "services": true, "serviceaccounts": true, "resourcequotas": true,
	"persistentvolumes": true, "persistentvolumeclaims": true,
}

func (t target) delete(ctx context.Context, options metav1.DeleteOptions, f negotiate.Format) (answer, error) {
	if err := t.check("delete"); err != nil {
		return answer{}, err
	}
	e, gone, err := t.verbs.Delete(ctx, t.namespace, t.name, options)
	if err != nil {
		return answer{}, err
	}
	code := 0
	//nolint:staticcheck // Old clients ask with orphanDependents and expect 202 while dependents go first.
	if o := options.OrphanDependents; !gone && o != nil && !*o {
		code = http.StatusAccepted
	}
	if !gone || t.kind.Group == "" && returnsDeleted[t.kind.Plural] {
		return t.show(f, e, code)
	}
	return showStatus(f, t.deleted(e), code)
}

// deleted is the Status of a finished deletion. Its "kind" is the resource's name, as in Kubernetes.
func (t target) deleted(e *object.Entry) *metav1.Status {
	s := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: t.name, Group: t.kind.Group, Kind: t.kind.Plural}}
	if e != nil {
		s.Details.UID = e.Object.GetUID()
	}
	return s
}

func (t target) deleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions, f negotiate.Format, send func([][]byte) error) error {
	if err := t.check("deletecollection"); err != nil {
		return err
	}
	entries, err := t.verbs.DeleteCollection(ctx, t.namespace, options, list)
	if err != nil {
		return err
	}
	return t.view.Entries(f, entries, send)
}

// patchTypes are the patches by content type.
var patchTypes = map[string]types.PatchType{
	string(types.JSONPatchType): types.JSONPatchType, string(types.MergePatchType): types.MergePatchType,
	string(types.StrategicMergePatchType): types.StrategicMergePatchType, string(types.ApplyYAMLPatchType): types.ApplyYAMLPatchType,
}

func unsupportedPatch() error {
	return negotiate.UnsupportedMediaType(string(types.JSONPatchType), string(types.MergePatchType),
		string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType))
}
