package apistatus

import (
	"net/http"

	"google.golang.org/grpc/codes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Code is the gRPC code for a Kubernetes Status. 409 is two things in Kubernetes, told apart by the reason.
func Code(s metav1.Status) codes.Code {
	switch s.Code {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType, http.StatusRequestEntityTooLarge:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return codes.Unimplemented
	case http.StatusConflict:
		if s.Reason == metav1.StatusReasonAlreadyExists {
			return codes.AlreadyExists
		}
		return codes.Aborted
	case http.StatusGone:
		return codes.OutOfRange
	case http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return codes.Unavailable
	case http.StatusGatewayTimeout:
		return codes.DeadlineExceeded
	case http.StatusInternalServerError:
		return codes.Internal
	}
	if s.Code >= 400 && s.Code < 500 {
		return codes.FailedPrecondition
	}
	return codes.Unknown
}

// HTTPCode and reason for a gRPC code that came without a Status.
func fromCode(c codes.Code) (int32, metav1.StatusReason) {
	switch c {
	case codes.InvalidArgument, codes.FailedPrecondition:
		return http.StatusBadRequest, metav1.StatusReasonBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized, metav1.StatusReasonUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden, metav1.StatusReasonForbidden
	case codes.NotFound:
		return http.StatusNotFound, metav1.StatusReasonNotFound
	case codes.Unimplemented:
		return http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed
	case codes.AlreadyExists:
		return http.StatusConflict, metav1.StatusReasonAlreadyExists
	case codes.Aborted:
		return http.StatusConflict, metav1.StatusReasonConflict
	case codes.OutOfRange:
		return http.StatusGone, metav1.StatusReasonExpired
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests
	case codes.Unavailable:
		return http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout, metav1.StatusReasonTimeout
	}
	return http.StatusInternalServerError, metav1.StatusReasonInternalError
}
