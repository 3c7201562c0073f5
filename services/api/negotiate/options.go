package negotiate

import (
	"fmt"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// GetOptions reads the query of a get.
func GetOptions(q url.Values) (o metav1.GetOptions, err error) {
	return o, badQuery(metav1.Convert_url_Values_To_v1_GetOptions(&q, &o, nil))
}

// ListOptions reads the query of a list, a watch or the selection of a deletecollection.
func ListOptions(q url.Values) (o metav1.ListOptions, err error) {
	return o, badQuery(metav1.Convert_url_Values_To_v1_ListOptions(&q, &o, nil))
}

// CreateOptions reads and checks the query of a create.
func CreateOptions(q url.Values) (o metav1.CreateOptions, err error) {
	if err = badQuery(metav1.Convert_url_Values_To_v1_CreateOptions(&q, &o, nil)); err != nil {
		return o, err
	}
	return o, CheckCreateOptions(&o)
}

// UpdateOptions reads and checks the query of an update.
func UpdateOptions(q url.Values) (o metav1.UpdateOptions, err error) {
	if err = badQuery(metav1.Convert_url_Values_To_v1_UpdateOptions(&q, &o, nil)); err != nil {
		return o, err
	}
	return o, CheckUpdateOptions(&o)
}

// PatchOptions reads and checks the query of a patch.
func PatchOptions(q url.Values, patch types.PatchType) (o metav1.PatchOptions, err error) {
	if err = badQuery(metav1.Convert_url_Values_To_v1_PatchOptions(&q, &o, nil)); err != nil {
		return o, err
	}
	return o, CheckPatchOptions(&o, patch)
}

// DeleteOptions reads the query of a delete that has no body.
func DeleteOptions(q url.Values) (o metav1.DeleteOptions, err error) {
	if err = badQuery(metav1.Convert_url_Values_To_v1_DeleteOptions(&q, &o, nil)); err != nil {
		return o, err
	}
	return o, CheckDeleteOptions(&o)
}

// CheckCreateOptions is 422 for options that are wrong.
func CheckCreateOptions(o *metav1.CreateOptions) error {
	return invalidOptions("CreateOptions", validation.ValidateCreateOptions(o))
}

// CheckUpdateOptions is 422 for options that are wrong.
func CheckUpdateOptions(o *metav1.UpdateOptions) error {
	return invalidOptions("UpdateOptions", validation.ValidateUpdateOptions(o))
}

// CheckPatchOptions is 422 for options that are wrong.
func CheckPatchOptions(o *metav1.PatchOptions, patch types.PatchType) error {
	return invalidOptions("PatchOptions", validation.ValidatePatchOptions(o, patch))
}

// CheckDeleteOptions is 422 for options that are wrong.
func CheckDeleteOptions(o *metav1.DeleteOptions) error {
	return invalidOptions("DeleteOptions", validation.ValidateDeleteOptions(o))
}

// IncludeObject reads a table request's includeObject.
func IncludeObject(q url.Values) (string, error) {
	switch v := q.Get("includeObject"); metav1.IncludeObjectPolicy(v) {
	case "", metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		return v, nil
	default:
		return "", apierrors.NewBadRequest(fmt.Sprintf("Invalid value for option includeObject: includeObject: Invalid value: %q: must be 'Metadata', 'Object', 'None', or empty", v))
	}
}

func badQuery(err error) error {
	if err == nil {
		return nil
	}
	return apierrors.NewBadRequest(err.Error())
}

func invalidOptions(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
}
