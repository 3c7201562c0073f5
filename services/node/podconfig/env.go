package podconfig

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// environment resolves a container's variables: envFrom first, then env, each of which may refer to those before it. The order of the result is that
// of the first appearance; later values of a name win.
type environment struct {
	order  []string
	values map[string]string
}

func (e *environment) set(name, value string) {
	if _, ok := e.values[name]; !ok {
		e.order = append(e.order, name)
	}
	e.values[name] = value
}

func (e *environment) lookup(name string) (string, bool) {
	value, ok := e.values[name]
	return value, ok
}

func (e *environment) list() []*runtimeapi.KeyValue {
	out := make([]*runtimeapi.KeyValue, len(e.order))
	for i, name := range e.order {
		out[i] = &runtimeapi.KeyValue{Key: name, Value: []byte(e.values[name])}
	}
	return out
}

func (h Host) environment(ctx context.Context, sources Sources, pod *corev1.Pod, container *corev1.Container, podIPs []string) (*environment, error) {
	e := &environment{values: map[string]string{}}
	for _, from := range container.EnvFrom {
		data := map[string]string{}
		switch {
		case from.ConfigMapRef != nil:
			object, err := sources.ConfigMap(ctx, pod.Namespace, from.ConfigMapRef.Name)
			if missing := apierrors.IsNotFound(err); missing && isTrue(from.ConfigMapRef.Optional) {
				continue
			} else if err != nil {
				return nil, err
			}
			data = object.Data
		case from.SecretRef != nil:
			object, err := sources.Secret(ctx, pod.Namespace, from.SecretRef.Name)
			if missing := apierrors.IsNotFound(err); missing && isTrue(from.SecretRef.Optional) {
				continue
			} else if err != nil {
				return nil, err
			}
			for k, v := range object.Data {
				data[k] = string(v)
			}
		}
		keys := make([]string, 0, len(data))
		for k := range data {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			e.set(from.Prefix+k, data[k])
		}
	}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			e.set(variable.Name, Expand(variable.Value, e.lookup))
			continue
		}
		value, ok, err := h.valueFrom(ctx, sources, pod, container, podIPs, variable.ValueFrom)
		if err != nil {
			return nil, err
		}
		if ok {
			e.set(variable.Name, value)
		}
	}
	return e, nil
}

// valueFrom reads a variable's source; ok is false when it is optional and not there.
func (h Host) valueFrom(ctx context.Context, sources Sources, pod *corev1.Pod, container *corev1.Container, podIPs []string, from *corev1.EnvVarSource) (value string, ok bool, err error) {
	switch {
	case from.FieldRef != nil:
		value, err = h.Field(pod, podIPs, from.FieldRef.FieldPath)
		return value, err == nil, err
	case from.ResourceFieldRef != nil:
		value, err = h.Resource(pod, container, from.ResourceFieldRef)
		return value, err == nil, err
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		object, err := sources.ConfigMap(ctx, pod.Namespace, ref.Name)
		if err != nil {
			return "", false, unlessOptional(err, ref.Optional)
		}
		if value, ok = object.Data[ref.Key]; !ok && !isTrue(ref.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", ref.Key, pod.Namespace, ref.Name)
		}
		return value, ok, nil
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		object, err := sources.Secret(ctx, pod.Namespace, ref.Name)
		if err != nil {
			return "", false, unlessOptional(err, ref.Optional)
		}
		raw, ok := object.Data[ref.Key]
		if !ok && !isTrue(ref.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in Secret %v/%v", ref.Key, pod.Namespace, ref.Name)
		}
		return string(raw), ok, nil
	}
	return "", false, fmt.Errorf("a variable's valueFrom names none of the sources that this node knows: %v", from)
}

func unlessOptional(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil
	}
	return err
}

func isTrue(b *bool) bool { return b != nil && *b }
