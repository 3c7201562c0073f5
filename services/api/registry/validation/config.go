package validation

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ConfigMap checks a config map.
func ConfigMap(c *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	size := 0
	for _, key := range slices.Sorted(maps.Keys(c.Data)) {
		errs = append(errs, invalid(field.NewPath("data").Key(key), key, validation.IsConfigMapKey(key))...)
		if _, ok := c.BinaryData[key]; ok {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, "duplicate of key present in binaryData"))
		}
		size += len(c.Data[key])
	}
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		errs = append(errs, invalid(field.NewPath("binaryData").Key(key), key, validation.IsConfigMapKey(key))...)
		size += len(c.BinaryData[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return errs
}

const whenImmutable = "field is immutable when `immutable` is set"

// ConfigMapUpdate checks what changed in a config map: nothing, once it is immutable.
func ConfigMapUpdate(c, old *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	if valueOr(old.Immutable, false) {
		if !valueOr(c.Immutable, false) {
			errs = append(errs, field.Forbidden(field.NewPath("immutable"), whenImmutable))
		}
		if !equality.Semantic.DeepEqual(c.Data, old.Data) {
			errs = append(errs, field.Forbidden(field.NewPath("data"), whenImmutable))
		}
		if !equality.Semantic.DeepEqual(c.BinaryData, old.BinaryData) {
			errs = append(errs, field.Forbidden(field.NewPath("binaryData"), whenImmutable))
		}
	}
	return append(errs, ConfigMap(c)...)
}

// Secret checks a secret: those of a known type have the keys that the type is made of.
func Secret(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	data := field.NewPath("data")
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.Data)) {
		errs = append(errs, invalid(data.Key(key), key, validation.IsConfigMapKey(key))...)
		size += len(s.Data[key])
	}
	if size > corev1.MaxSecretSize {
		errs = append(errs, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	needs := func(key string) {
		if _, ok := s.Data[key]; !ok {
			errs = append(errs, field.Required(data.Key(key), ""))
		}
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
		}
	case corev1.SecretTypeDockercfg:
		errs = append(errs, dockerConfig(s, corev1.DockerConfigKey)...)
	case corev1.SecretTypeDockerConfigJson:
		errs = append(errs, dockerConfig(s, corev1.DockerConfigJsonKey)...)
	case corev1.SecretTypeBasicAuth:
		_, user := s.Data[corev1.BasicAuthUsernameKey]
		_, password := s.Data[corev1.BasicAuthPasswordKey]
		if !user && !password {
			needs(corev1.BasicAuthUsernameKey)
			needs(corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			errs = append(errs, field.Required(data.Key(corev1.SSHAuthPrivateKey), ""))
		}
	case corev1.SecretTypeTLS:
		needs(corev1.TLSCertKey)
		needs(corev1.TLSPrivateKeyKey)
	}
	return errs
}

func dockerConfig(s *corev1.Secret, key string) field.ErrorList {
	p := field.NewPath("data").Key(key)
	content, ok := s.Data[key]
	if !ok {
		return field.ErrorList{field.Required(p, "")}
	}
	if err := json.Unmarshal(content, &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(p, "<secret contents redacted>", err.Error())}
	}
	return nil
}

// SecretUpdate checks what changed in a secret: never its type, and nothing once it is immutable.
func SecretUpdate(s, old *corev1.Secret) field.ErrorList {
	errs := unchanged(s.Type, old.Type, field.NewPath("type"))
	if valueOr(old.Immutable, false) {
		if !valueOr(s.Immutable, false) {
			errs = append(errs, field.Forbidden(field.NewPath("immutable"), whenImmutable))
		}
		if !equality.Semantic.DeepEqual(s.Data, old.Data) {
			errs = append(errs, field.Forbidden(field.NewPath("data"), whenImmutable))
		}
	}
	return append(errs, Secret(s)...)
}
