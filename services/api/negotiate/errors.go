package negotiate

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxBody is the largest object or patch that a request may carry, in bytes.
const MaxBody = 3 << 20

func notAcceptable(accepted []string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + strings.Join(accepted, ", "),
	}}
}

// NotAcceptable is 406 with the media types that would be.
func NotAcceptable(accepted ...string) error { return notAcceptable(accepted) }

// UnsupportedMediaType is 415 with the media types that a request body may have.
func UnsupportedMediaType(accepted ...string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(accepted, ", "),
	}}
}

// CheckSize is 413 for a body over MaxBody.
func CheckSize(body []byte) error {
	if len(body) <= MaxBody {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", MaxBody))
}
