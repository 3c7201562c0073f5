package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func env(list []corev1.EnvVar, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, v := range list {
		at := p.Index(i)
		if v.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, invalid(at.Child("name"), v.Name, validation.IsRelaxedEnvVarName(v.Name))...)
		}
		errs = append(errs, envValueFrom(&v, at.Child("valueFrom"))...)
	}
	return errs
}

func envValueFrom(v *corev1.EnvVar, p *field.Path) field.ErrorList {
	from := v.ValueFrom
	if from == nil {
		return nil
	}
	var errs field.ErrorList
	sources := 0
	if r := from.FieldRef; r != nil {
		sources++
		errs = append(errs, podField(r, envFields, p.Child("fieldRef"))...)
	}
	if r := from.ResourceFieldRef; r != nil {
		sources++
		errs = append(errs, resourceField(r, false, p.Child("resourceFieldRef"))...)
	}
	if r := from.ConfigMapKeyRef; r != nil {
		sources++
		errs = append(errs, keyReference(r.Name, r.Key, p.Child("configMapKeyRef"))...)
	}
	if r := from.SecretKeyRef; r != nil {
		sources++
		errs = append(errs, keyReference(r.Name, r.Key, p.Child("secretKeyRef"))...)
	}
	if r := from.FileKeyRef; r != nil {
		sources++
		errs = append(errs, fileReference(r, p.Child("fileKeyRef"))...)
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Invalid(p, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case v.Value != "":
		errs = append(errs, field.Invalid(p, "", "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(p, "", "may not have more than one field specified at a time"))
	}
	return errs
}

func keyReference(name, key string, p *field.Path) field.ErrorList {
	errs := required(name, p.Child("name"))
	if key == "" {
		return append(errs, field.Required(p.Child("key"), ""))
	}
	return append(errs, invalid(p.Child("key"), key, validation.IsConfigMapKey(key))...)
}

func fileReference(r *corev1.FileKeySelector, p *field.Path) field.ErrorList {
	errs := required(r.VolumeName, p.Child("volumeName"))
	if r.Key == "" {
		errs = append(errs, field.Required(p.Child("key"), ""))
	} else {
		errs = append(errs, invalid(p.Child("key"), r.Key, validation.IsRelaxedEnvVarName(r.Key))...)
	}
	if r.Path == "" {
		return append(errs, field.Required(p.Child("path"), ""))
	}
	return append(errs, localFile(r.Path, p.Child("path"))...)
}

func envFrom(list []corev1.EnvFromSource, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, from := range list {
		at := p.Index(i)
		if from.Prefix != "" {
			errs = append(errs, invalid(at.Child("prefix"), from.Prefix, validation.IsRelaxedEnvVarName(from.Prefix))...)
		}
		if r := from.ConfigMapRef; r != nil {
			errs = append(errs, required(r.Name, at.Child("configMapRef", "name"))...)
		}
		if r := from.SecretRef; r != nil {
			errs = append(errs, required(r.Name, at.Child("secretRef", "name"))...)
		}
		switch {
		case from.ConfigMapRef == nil && from.SecretRef == nil:
			errs = append(errs, field.Invalid(p, "", "must specify one of: `configMapRef` or `secretRef`"))
		case from.ConfigMapRef != nil && from.SecretRef != nil:
			errs = append(errs, field.Invalid(p, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

// The fields of a pod that may be given to containers in variables and in files.
var (
	envFields = sets.New("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs")
	fileFields = sets.New("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
	// podFields are those that have a meaning at all.
	podFields = envFields.Union(fileFields).Insert("spec.restartPolicy", "spec.schedulerName", "status.phase")
)

func podField(r *corev1.ObjectFieldSelector, allowed sets.Set[string], p *field.Path) field.ErrorList {
	if r.APIVersion == "" {
		return field.ErrorList{field.Required(p.Child("apiVersion"), "")}
	}
	if r.FieldPath == "" {
		return field.ErrorList{field.Required(p.Child("fieldPath"), "")}
	}
	// metadata.labels['key'] is one entry of a map.
	if name, rest, ok := strings.Cut(r.FieldPath, "['"); ok && strings.HasSuffix(rest, "']") {
		key := strings.TrimSuffix(rest, "']")
		switch name {
		case "metadata.annotations":
			return invalid(p, key, validation.IsQualifiedName(strings.ToLower(key)))
		case "metadata.labels":
			return invalid(p, key, validation.IsQualifiedName(key))
		default:
			return field.ErrorList{field.Invalid(p, name, "does not support subscript")}
		}
	}
	if !podFields.Has(r.FieldPath) {
		return field.ErrorList{field.Invalid(p.Child("fieldPath"), r.FieldPath, "error converting fieldPath: field label not supported: "+r.FieldPath)}
	}
	if !allowed.Has(r.FieldPath) {
		return field.ErrorList{field.NotSupported(p.Child("fieldPath"), r.FieldPath, sets.List(allowed))}
	}
	return nil
}

var resourceFields = []string{
	"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
}

// resourceField checks a reference to a container's requests or limits; a volume must name the container.
func resourceField(r *corev1.ResourceFieldSelector, volume bool, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if volume && r.ContainerName == "" {
		errs = append(errs, field.Required(p.Child("containerName"), ""))
	}
	kind, name, _ := strings.Cut(r.Resource, ".")
	switch {
	case r.Resource == "":
		errs = append(errs, field.Required(p.Child("resource"), ""))
		return errs
	case (kind == "limits" || kind == "requests") && strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
	default:
		errs = append(errs, oneOf(r.Resource, p.Child("resource"), resourceFields...)...)
	}
	return append(errs, divisor(name, r.Divisor, p)...)
}

const byteDivisors = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"

func divisor(name string, q resource.Quantity, p *field.Path) field.ErrorList {
	if q.IsZero() {
		return nil
	}
	allowed, what := byteDivisors, ""
	switch {
	case name == "cpu":
		allowed, what = "1m and 1", "cpu"
		if q.Cmp(resource.MustParse("1m")) == 0 || q.Cmp(resource.MustParse("1")) == 0 {
			return nil
		}
	case name == "memory":
		what = "memory"
	case name == "ephemeral-storage":
		what = "local ephemeral storage"
	case strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		what = "hugepages"
	default:
		return nil
	}
	if name != "cpu" {
		for _, d := range strings.Split(byteDivisors, ", ") {
			if q.Cmp(resource.MustParse(d)) == 0 {
				return nil
			}
		}
	}
	return field.ErrorList{field.Invalid(p.Child("divisor"), q.String(), fmt.Sprintf("only divisor's values %s are supported with the %s resource", allowed, what))}
}
