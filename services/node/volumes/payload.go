package volumes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const defaultMode = 0o644

func modeOf(own, shared *int32) os.FileMode {
	switch {
	case own != nil:
		return os.FileMode(*own)
	case shared != nil:
		return os.FileMode(*shared)
	}
	return defaultMode
}

// add puts a file into the payload; its name must stay inside the volume.
func add(payload map[string]file, name string, data []byte, mode os.FileMode) error {
	name = path.Clean(name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "..") {
		return fmt.Errorf("the file name %q leads out of the volume", name)
	}
	payload[name] = file{data: data, mode: mode}
	return nil
}

func (m *Manager) configMap(ctx context.Context, payload map[string]file, namespace, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	object, err := m.sources.ConfigMap(ctx, namespace, name)
	if err != nil {
		if apierrors.IsNotFound(err) && optional != nil && *optional {
			return nil
		}
		return err
	}
	data := make(map[string][]byte, len(object.Data)+len(object.BinaryData))
	for k, v := range object.Data {
		data[k] = []byte(v)
	}
	for k, v := range object.BinaryData {
		data[k] = v
	}
	return addKeys(payload, data, items, mode, optional, "configmap "+namespace+"/"+name)
}

func (m *Manager) secret(ctx context.Context, payload map[string]file, namespace, name string, items []corev1.KeyToPath, mode *int32, optional *bool) error {
	object, err := m.sources.Secret(ctx, namespace, name)
	if err != nil {
		if apierrors.IsNotFound(err) && optional != nil && *optional {
			return nil
		}
		return err
	}
	return addKeys(payload, object.Data, items, mode, optional, "secret "+namespace+"/"+name)
}

// addKeys takes the items, or all keys when there are none.
func addKeys(payload map[string]file, data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional *bool, source string) error {
	if len(items) == 0 {
		for k, v := range data {
			if err := add(payload, k, v, modeOf(nil, mode)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, item := range items {
		v, ok := data[item.Key]
		if !ok {
			if optional != nil && *optional {
				continue
			}
			return fmt.Errorf("%s: references non-existent config key: %s", source, item.Key)
		}
		if err := add(payload, item.Path, v, modeOf(item.Mode, mode)); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) downward(payload map[string]file, pod *corev1.Pod, podIPs []string, items []corev1.DownwardAPIVolumeFile, mode *int32) error {
	for _, item := range items {
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = m.host.Field(pod, podIPs, item.FieldRef.FieldPath)
		case item.ResourceFieldRef != nil:
			value, err = m.host.Resource(pod, &corev1.Container{}, item.ResourceFieldRef)
		}
		if err != nil {
			return err
		}
		if err := add(payload, item.Path, []byte(value), modeOf(item.Mode, mode)); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) projected(ctx context.Context, payload map[string]file, pod *corev1.Pod, podIPs []string, source *corev1.ProjectedVolumeSource) error {
	var errs []error
	for _, s := range source.Sources {
		switch {
		case s.ConfigMap != nil:
			errs = append(errs, m.configMap(ctx, payload, pod.Namespace, s.ConfigMap.Name, s.ConfigMap.Items, source.DefaultMode, s.ConfigMap.Optional))
		case s.Secret != nil:
			errs = append(errs, m.secret(ctx, payload, pod.Namespace, s.Secret.Name, s.Secret.Items, source.DefaultMode, s.Secret.Optional))
		case s.DownwardAPI != nil:
			errs = append(errs, m.downward(payload, pod, podIPs, s.DownwardAPI.Items, source.DefaultMode))
		case s.ServiceAccountToken != nil:
			errs = append(errs, errors.New("service account tokens in projected volumes are not available on this node yet"))
		default:
			errs = append(errs, errors.New("a projected volume has a source that this node does not know"))
		}
	}
	return errors.Join(errs...)
}
