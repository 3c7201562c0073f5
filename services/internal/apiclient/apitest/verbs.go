package apitest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/kinds"
	"github.com/orrery-io/orrery/services/internal/wire"
)

type marshaler interface{ Marshal() ([]byte, error) }

// verb runs one call of a typed service.
func (s *Server) verb(kind kinds.Kind, method string, args any) (out marshaler, err error) {
	call := Call{Kind: kind.Kind, Method: method}
	var run func() (marshaler, error)
	switch r := args.(type) {
	case *wire.GetRequest:
		call.Namespace, call.Name = r.Namespace, r.Name
		run = func() (marshaler, error) { return s.get(kind, r.Namespace, r.Name) }
	case *wire.ListRequest:
		call.Namespace = r.Namespace
		run = func() (marshaler, error) {
			objects, err := s.list(kind, r.Namespace, r.Options)
			return listOf(kind, objects, strconv.FormatInt(s.revision, 10)), err
		}
	case *wire.CreateRequest:
		obj, err := decode(kind, r.Object)
		if err != nil {
			return nil, err
		}
		call.Namespace, call.Name, call.Object = r.Namespace, obj.GetName(), obj
		run = func() (marshaler, error) { return s.create(kind, r.Namespace, obj) }
	case *wire.UpdateRequest:
		obj, err := decode(kind, r.Object)
		if err != nil {
			return nil, err
		}
		call.Namespace, call.Name, call.Object = r.Namespace, obj.GetName(), obj
		run = func() (marshaler, error) { return s.update(kind, method, obj) }
	case *wire.PatchRequest:
		call.Namespace, call.Name = r.Namespace, r.Name
		run = func() (marshaler, error) {
			return s.patch(kind, r.Namespace, r.Name, patchTypes[r.Type], r.Patch, r.Subresource)
		}
	case *wire.DeleteRequest:
		call.Namespace, call.Name = r.Namespace, r.Name
		run = func() (marshaler, error) {
			return &metav1.Status{Status: metav1.StatusSuccess}, s.delete(kind, r.Namespace, r.Name, r.Options)
		}
	default:
		return nil, apierrors.NewMethodNotSupported(resource(kind), method)
	}
	return s.call(call, run)
}

func (s *Server) call(call Call, run func() (marshaler, error)) (marshaler, error) {
	if s.Before != nil {
		if err := s.Before(call); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	s.calls = append(s.calls, call)
	out, err := run()
	s.mu.Unlock()
	if err == nil && s.After != nil {
		err = s.After(call)
	}
	return out, err
}

var patchTypes = map[wire.PatchType]types.PatchType{
	wire.PatchJSON: types.JSONPatchType, wire.PatchMerge: types.MergePatchType, wire.PatchStrategicMerge: types.StrategicMergePatchType,
}

func resource(kind kinds.Kind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: kind.Plural}
}

func (s *Server) get(kind kinds.Kind, namespace, name string) (apiclient.Object, error) {
	obj, ok := s.objects[key(kind, namespace, name)]
	if !ok {
		return nil, apierrors.NewNotFound(resource(kind), name)
	}
	return obj, nil
}

func (s *Server) create(kind kinds.Kind, namespace string, obj apiclient.Object) (apiclient.Object, error) {
	if kind.Namespaced {
		obj.SetNamespace(namespace)
	}
	if obj.GetName() == "" {
		obj.SetName(obj.GetGenerateName() + rand.String(5))
	}
	k := key(kind, obj.GetNamespace(), obj.GetName())
	if _, ok := s.objects[k]; ok {
		return nil, apierrors.NewAlreadyExists(resource(kind), obj.GetName())
	}
	if obj.GetUID() == "" {
		obj.SetUID(uuid.NewUUID())
	}
	if obj.GetCreationTimestamp().Time.IsZero() {
		obj.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
	}
	obj.SetGeneration(1)
	if ns, ok := obj.(*corev1.Namespace); ok && len(ns.Spec.Finalizers) == 0 {
		ns.Spec.Finalizers, ns.Status.Phase = []corev1.FinalizerName{corev1.FinalizerKubernetes}, corev1.NamespaceActive
	}
	s.put(kind, watch.Added, k, nil, obj)
	return obj, nil
}

func (s *Server) put(kind kinds.Kind, event watch.EventType, k string, old, obj apiclient.Object) {
	s.revision++
	obj.SetResourceVersion(strconv.FormatInt(s.revision, 10))
	if event == watch.Deleted {
		delete(s.objects, k)
	} else {
		s.objects[k] = obj
	}
	s.log = append(s.log, change{kind: kind.GroupResource(), event: event, object: obj, old: old, revision: s.revision})
	close(s.changed)
	s.changed = make(chan struct{})
}

func part(obj apiclient.Object, name string) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName(name)
}

func clone(obj apiclient.Object) apiclient.Object { return obj.DeepCopyObject().(apiclient.Object) }

func (s *Server) update(kind kinds.Kind, method string, obj apiclient.Object) (apiclient.Object, error) {
	old, err := s.get(kind, obj.GetNamespace(), obj.GetName())
	if err != nil {
		return nil, err
	}
	if rv := obj.GetResourceVersion(); rv != "" && rv != old.GetResourceVersion() || obj.GetUID() != "" && obj.GetUID() != old.GetUID() {
		return nil, apierrors.NewConflict(resource(kind), obj.GetName(), fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	obj = clone(obj)
	switch status := part(obj, "Status"); {
	case method == "UpdateStatus":
		next := clone(old)
		part(next, "Status").Set(status)
		obj = next
	case method == "Finalize":
		next := clone(old)
		next.(*corev1.Namespace).Spec.Finalizers = obj.(*corev1.Namespace).Spec.Finalizers
		obj = next
	case status.IsValid():
		status.Set(part(clone(old), "Status"))
	}
	obj.SetUID(old.GetUID())
	obj.SetCreationTimestamp(old.GetCreationTimestamp())
	obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	obj.SetGeneration(old.GetGeneration())
	obj.SetResourceVersion(old.GetResourceVersion())
	if equality.Semantic.DeepEqual(old, obj) {
		return old, nil
	}
	if spec := part(obj, "Spec"); spec.IsValid() && !equality.Semantic.DeepEqual(spec.Interface(), part(old, "Spec").Interface()) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
	k := key(kind, obj.GetNamespace(), obj.GetName())
	if obj.GetDeletionTimestamp() != nil && !held(obj) {
		s.put(kind, watch.Deleted, k, old, obj)
		return obj, nil
	}
	s.put(kind, watch.Modified, k, old, obj)
	return obj, nil
}

// held tells whether something keeps an object that is being deleted.
func held(obj apiclient.Object) bool {
	if ns, ok := obj.(*corev1.Namespace); ok && len(ns.Spec.Finalizers) > 0 {
		return true
	}
	grace := obj.GetDeletionGracePeriodSeconds()
	return len(obj.GetFinalizers()) > 0 || grace != nil && *grace > 0
}

func (s *Server) delete(kind kinds.Kind, namespace, name string, options metav1.DeleteOptions) error {
	old, err := s.get(kind, namespace, name)
	if err != nil {
		return err
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != old.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion() {
			return apierrors.NewConflict(resource(kind), name, fmt.Errorf("precondition failed"))
		}
	}
	obj := clone(old)
	if policy := options.PropagationPolicy; policy != nil {
		finalizers := slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool {
			return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
		})
		switch *policy {
		case metav1.DeletePropagationForeground:
			finalizers = append(finalizers, metav1.FinalizerDeleteDependents)
		case metav1.DeletePropagationOrphan:
			finalizers = append(finalizers, metav1.FinalizerOrphanDependents)
		}
		obj.SetFinalizers(finalizers)
	}
	var grace int64
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		grace = 30
		if options.GracePeriodSeconds != nil {
			grace = *options.GracePeriodSeconds
		}
	}
	if obj.GetDeletionTimestamp() == nil {
		at := metav1.NewTime(s.clock.Now())
		obj.SetDeletionTimestamp(&at)
	}
	obj.SetDeletionGracePeriodSeconds(&grace)
	if ns, ok := obj.(*corev1.Namespace); ok {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	k := key(kind, namespace, name)
	switch {
	case !held(obj):
		s.put(kind, watch.Deleted, k, old, obj)
	case !equality.Semantic.DeepEqual(old, obj):
		s.put(kind, watch.Modified, k, old, obj)
	}
	return nil
}

func (s *Server) patch(kind kinds.Kind, namespace, name string, patchType types.PatchType, patch []byte, subresource string) (apiclient.Object, error) {
	old, err := s.get(kind, namespace, name)
	if err != nil {
		return nil, err
	}
	before, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	var after []byte
	switch patchType {
	case types.StrategicMergePatchType:
		after, err = strategicpatch.StrategicMergePatch(before, patch, newObject(kind))
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(before, patch)
	default:
		err = fmt.Errorf("patch type %q is not known here", patchType)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	obj := newObject(kind)
	if err := json.Unmarshal(after, obj); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	method := "Update"
	if subresource == "status" {
		method = "UpdateStatus"
	}
	return s.update(kind, method, obj)
}

// selector is the filter that list options ask for.
func selector(options metav1.ListOptions) (func(apiclient.Object) bool, error) {
	byLabel, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(obj apiclient.Object) bool {
		return byLabel.Matches(labels.Set(obj.GetLabels())) &&
			byField.Matches(fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace()})
	}, nil
}
