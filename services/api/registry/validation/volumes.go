package validation

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podVolumes checks a pod's volumes and returns their sources by name.
func podVolumes(list []corev1.Volume, p *field.Path) (map[string]corev1.VolumeSource, field.ErrorList) {
	var errs field.ErrorList
	sources := make(map[string]corev1.VolumeSource, len(list))
	for i := range list {
		v, at := &list[i], p.Index(i)
		found := volumeSource(&v.VolumeSource, at)
		if v.Name == "" {
			found = append(found, field.Required(at.Child("name"), ""))
		} else {
			found = append(found, dnsLabel(v.Name, at.Child("name"))...)
		}
		if _, ok := sources[v.Name]; ok {
			found = append(found, field.Duplicate(at.Child("name"), v.Name))
		}
		if len(found) > 0 {
			errs = append(errs, found...)
			// A volume with errors still has its name, so that mounts of it are not reported as well.
		}
		sources[v.Name] = v.VolumeSource
	}
	return sources, errs
}

// onlySource says which of a struct's pointers is set: a source is a struct with one pointer per type.
func onlySource(source any, p *field.Path, none, many string) (string, field.ErrorList) {
	v := reflect.ValueOf(source).Elem()
	first := ""
	var errs field.ErrorList
	for i := range v.NumField() {
		if v.Field(i).Kind() != reflect.Pointer || v.Field(i).IsNil() {
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if first == "" {
			first = name
			continue
		}
		errs = append(errs, field.Forbidden(p.Child(name), many))
	}
	if first == "" {
		errs = append(errs, field.Required(p, none))
	}
	return first, errs
}

func volumeSource(s *corev1.VolumeSource, p *field.Path) field.ErrorList {
	kind, errs := onlySource(s, p, "must specify a volume type", "may not specify more than 1 volume type")
	at := p.Child(kind)
	switch kind {
	case "emptyDir":
		if limit := s.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			errs = append(errs, field.Forbidden(at.Child("sizeLimit"), "SizeLimit field must be a valid resource quantity"))
		}
	case "hostPath":
		errs = append(errs, hostPath(s.HostPath, at)...)
	case "secret":
		errs = append(errs, required(s.Secret.SecretName, at.Child("secretName"))...)
		errs = append(errs, mode(s.Secret.DefaultMode, at.Child("defaultMode"))...)
		errs = append(errs, keyPaths(s.Secret.Items, at.Child("items"))...)
	case "configMap":
		errs = append(errs, required(s.ConfigMap.Name, at.Child("name"))...)
		errs = append(errs, mode(s.ConfigMap.DefaultMode, at.Child("defaultMode"))...)
		errs = append(errs, keyPaths(s.ConfigMap.Items, at.Child("items"))...)
	case "persistentVolumeClaim":
		errs = append(errs, required(s.PersistentVolumeClaim.ClaimName, at.Child("claimName"))...)
	case "downwardAPI":
		errs = append(errs, mode(s.DownwardAPI.DefaultMode, at.Child("defaultMode"))...)
		for i := range s.DownwardAPI.Items {
			// Kubernetes reports files under the source itself.
			errs = append(errs, downwardFile(&s.DownwardAPI.Items[i], at)...)
		}
	case "projected":
		errs = append(errs, projectedVolume(s.Projected, at)...)
	case "nfs":
		errs = append(errs, nfs(s.NFS, at)...)
	case "csi":
		errs = append(errs, driverName(s.CSI.Driver, at.Child("driver"))...)
		if ref := s.CSI.NodePublishSecretRef; ref != nil {
			errs = append(errs, required(ref.Name, at.Child("nodePublishSecretRef", "name"))...)
		}
	case "ephemeral":
		if s.Ephemeral.VolumeClaimTemplate == nil {
			return append(errs, field.Required(at.Child("volumeClaimTemplate"), ""))
		}
		errs = append(errs, claimSpec(&s.Ephemeral.VolumeClaimTemplate.Spec, at.Child("volumeClaimTemplate", "spec"))...)
	case "image":
		errs = append(errs, required(s.Image.Reference, at.Child("reference"))...)
		errs = append(errs, requiredOneOf(s.Image.PullPolicy, at.Child("pullPolicy"), corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	case "iscsi":
		errs = append(errs, required(s.ISCSI.TargetPortal, at.Child("targetPortal"))...)
		errs = append(errs, required(s.ISCSI.IQN, at.Child("iqn"))...)
	case "gitRepo":
		errs = append(errs, required(s.GitRepo.Repository, at.Child("repository"))...)
		errs = append(errs, localPath(s.GitRepo.Directory, at.Child("directory"))...)
	}
	return errs
}

func hostPath(s *corev1.HostPathVolumeSource, p *field.Path) field.ErrorList {
	if s.Path == "" {
		return field.ErrorList{field.Required(p.Child("path"), "")}
	}
	errs := noBacksteps(s.Path, p.Child("path"))
	if s.Type != nil {
		errs = append(errs, oneOf(*s.Type, p.Child("type"), corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev,
			corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)...)
	}
	return errs
}

func nfs(s *corev1.NFSVolumeSource, p *field.Path) field.ErrorList {
	errs := required(s.Server, p.Child("server"))
	errs = append(errs, required(s.Path, p.Child("path"))...)
	if !strings.HasPrefix(s.Path, "/") {
		errs = append(errs, field.Invalid(p.Child("path"), s.Path, "must be an absolute path"))
	}
	return errs
}

// maxDriverName is the longest name of a CSI driver: it becomes part of labels.
const maxDriverName = 63

func driverName(name string, p *field.Path) field.ErrorList {
	errs := required(name, p)
	if len(name) > maxDriverName {
		errs = append(errs, field.TooLong(p, "", maxDriverName))
	}
	return append(errs, dnsSubdomain(strings.ToLower(name), p)...)
}

func mode(m *int32, p *field.Path) field.ErrorList {
	if m != nil && (*m < 0 || *m > 0o777) {
		return field.ErrorList{field.Invalid(p, *m, fileMode)}
	}
	return nil
}

func keyPaths(items []corev1.KeyToPath, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, item := range items {
		at := p.Index(i)
		errs = append(errs, required(item.Key, at.Child("key"))...)
		if item.Path == "" {
			errs = append(errs, field.Required(at.Child("path"), ""))
		} else {
			errs = append(errs, localFile(item.Path, at.Child("path"))...)
		}
		errs = append(errs, mode(item.Mode, at.Child("mode"))...)
	}
	return errs
}

func downwardFile(f *corev1.DownwardAPIVolumeFile, p *field.Path) field.ErrorList {
	errs := required(f.Path, p.Child("path"))
	errs = append(errs, localFile(f.Path, p.Child("path"))...)
	switch {
	case f.FieldRef != nil:
		errs = append(errs, podField(f.FieldRef, fileFields, p.Child("fieldRef"))...)
		if f.ResourceFieldRef != nil {
			errs = append(errs, field.Invalid(p, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		}
	case f.ResourceFieldRef != nil:
		errs = append(errs, resourceField(f.ResourceFieldRef, true, p.Child("resourceFieldRef"))...)
	default:
		errs = append(errs, field.Required(p, "one of fieldRef and resourceFieldRef is required"))
	}
	return append(errs, mode(f.Mode, p.Child("mode"))...)
}

// The life of a service account token in a volume, in seconds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

func projectedVolume(s *corev1.ProjectedVolumeSource, p *field.Path) field.ErrorList {
	errs := mode(s.DefaultMode, p.Child("defaultMode"))
	paths := sets.New[string]()
	take := func(name, file string) {
		if file == "" {
			return
		}
		if paths.Has(file) {
			errs = append(errs, field.Invalid(p, name, "conflicting duplicate paths"))
		}
		paths.Insert(file)
	}
	for i := range s.Sources {
		source, at := &s.Sources[i], p.Child("sources").Index(i)
		kind, found := onlySource(source, at, "must specify at least one source type", "may not specify more than 1 volume type per source")
		errs = append(errs, found...)
		at = at.Child(kind)
		switch kind {
		case "secret":
			errs = append(errs, required(source.Secret.Name, at.Child("name"))...)
			errs = append(errs, keyPaths(source.Secret.Items, at.Child("items"))...)
			for _, item := range source.Secret.Items {
				take(source.Secret.Name, item.Path)
			}
		case "configMap":
			errs = append(errs, required(source.ConfigMap.Name, at.Child("name"))...)
			errs = append(errs, keyPaths(source.ConfigMap.Items, at.Child("items"))...)
			for _, item := range source.ConfigMap.Items {
				take(source.ConfigMap.Name, item.Path)
			}
		case "downwardAPI":
			for j := range source.DownwardAPI.Items {
				errs = append(errs, downwardFile(&source.DownwardAPI.Items[j], at)...)
				take("", source.DownwardAPI.Items[j].Path)
			}
		case "serviceAccountToken":
			errs = append(errs, tokenProjection(source.ServiceAccountToken, at)...)
			take("", source.ServiceAccountToken.Path)
		case "clusterTrustBundle":
			errs = append(errs, bundleProjection(source.ClusterTrustBundle, at)...)
			take("", source.ClusterTrustBundle.Path)
		}
	}
	return errs
}

func tokenProjection(t *corev1.ServiceAccountTokenProjection, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seconds := valueOr(t.ExpirationSeconds, minTokenSeconds)
	if seconds < minTokenSeconds {
		errs = append(errs, field.Invalid(p.Child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes"))
	}
	if seconds > maxTokenSeconds {
		errs = append(errs, field.Invalid(p.Child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if t.Path == "" {
		return append(errs, field.Required(p.Child("path"), ""))
	}
	return append(errs, localFile(t.Path, p.Child("path"))...)
}

func bundleProjection(b *corev1.ClusterTrustBundleProjection, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case b.Name != nil && b.SignerName != nil:
		errs = append(errs, field.Invalid(p, b, "only one of name and signerName may be used"))
	case b.Name == nil && b.SignerName == nil:
		errs = append(errs, field.Required(p, "either name or signerName must be specified"))
	}
	if b.Path == "" {
		return append(errs, field.Required(p.Child("path"), ""))
	}
	return append(errs, localFile(b.Path, p.Child("path"))...)
}
