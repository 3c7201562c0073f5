package validation

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"strings"
)

// StorageClass checks a storage class.
func StorageClass(c *storagev1.StorageClass) field.ErrorList {
	p := field.NewPath("provisioner")
	errs := required(c.Provisioner, p)
	if c.Provisioner != "" {
		errs = append(errs, invalid(p, c.Provisioner, validation.IsQualifiedName(strings.ToLower(c.Provisioner)))...)
	}
	for key := range c.Parameters {
		if key == "" {
			errs = append(errs, field.Invalid(field.NewPath("parameters"), key, "field can not be empty."))
		}
	}
	if c.ReclaimPolicy != nil {
		errs = append(errs, oneOf(*c.ReclaimPolicy, field.NewPath("reclaimPolicy"), corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	if c.VolumeBindingMode == nil {
		return append(errs, field.Required(field.NewPath("volumeBindingMode"), ""))
	}
	return append(errs, oneOf(*c.VolumeBindingMode, field.NewPath("volumeBindingMode"), storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
}

// StorageClassUpdate checks what changed in a storage class: not what volumes it makes.
func StorageClassUpdate(c, old *storagev1.StorageClass) field.ErrorList {
	errs := StorageClass(c)
	if !equality.Semantic.DeepEqual(c.Parameters, old.Parameters) {
		errs = append(errs, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
	}
	if c.Provisioner != old.Provisioner {
		errs = append(errs, field.Forbidden(field.NewPath("provisioner"), "updates to provisioner are forbidden."))
	}
	if valueOr(c.ReclaimPolicy, "") != valueOr(old.ReclaimPolicy, "") {
		errs = append(errs, field.Forbidden(field.NewPath("reclaimPolicy"), "updates to reclaimPolicy are forbidden."))
	}
	return append(errs, unchanged(c.VolumeBindingMode, old.VolumeBindingMode, field.NewPath("volumeBindingMode"))...)
}

// RuntimeClass checks a runtime class.
func RuntimeClass(c *nodev1.RuntimeClass) field.ErrorList {
	errs := invalid(field.NewPath("handler"), c.Handler, validation.IsDNS1123Label(c.Handler))
	if c.Scheduling != nil {
		errs = append(errs, tolerations(c.Scheduling.Tolerations, field.NewPath("scheduling", "tolerations"))...)
	}
	return errs
}

// RuntimeClassUpdate checks what changed in a runtime class: not its handler.
func RuntimeClassUpdate(c, old *nodev1.RuntimeClass) field.ErrorList {
	return append(RuntimeClass(c), unchanged(c.Handler, old.Handler, field.NewPath("handler"))...)
}

// SigningRequest checks a certificate signing request.
func SigningRequest(r *certificatesv1.CertificateSigningRequest) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if len(r.Spec.Request) == 0 {
		errs = append(errs, field.Required(p.Child("request"), ""))
	}
	if len(r.Spec.Usages) == 0 {
		errs = append(errs, field.Required(p.Child("usages"), "usages must be specified"))
	}
	errs = append(errs, required(r.Spec.SignerName, p.Child("signerName"))...)
	if r.Spec.SignerName != "" && !strings.Contains(r.Spec.SignerName, "/") {
		errs = append(errs, field.Invalid(p.Child("signerName"), r.Spec.SignerName, "must be a fully qualified domain and path of the form 'example.com/signer-name'"))
	}
	if s := r.Spec.ExpirationSeconds; s != nil && *s < 600 {
		errs = append(errs, field.Invalid(p.Child("expirationSeconds"), *s, "may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return errs
}
