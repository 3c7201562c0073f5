package apistatus

import (
	"context"
	"errors"
	"net/http"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TypeURL names the detail that holds the encoded metav1.Status.
const TypeURL = "type.googleapis.com/orrery.meta.v1.Status"

// Of is the Kubernetes Status of any error: its own, that of a gRPC status, or 500 InternalError with the error's text.
func Of(err error) metav1.Status {
	var api apierrors.APIStatus
	switch {
	case errors.As(err, &api):
		return complete(api.Status())
	case errors.Is(err, context.DeadlineExceeded):
		return complete(apierrors.NewTimeoutError("the request did not complete within its deadline", 0).Status())
	}
	if s, ok := status.FromError(err); ok {
		return fromStatus(s)
	}
	return complete(apierrors.NewInternalError(err).Status())
}

// ToGRPC is err as a gRPC status error with the Kubernetes Status as its detail. A gRPC status error that is already one, and
// a cancellation, pass as they are.
func ToGRPC(err error) error {
	if err == nil {
		return nil
	}
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		if _, ok := status.FromError(err); ok {
			return err
		}
		if errors.Is(err, context.Canceled) {
			return status.Error(codes.Canceled, err.Error())
		}
	}
	s := Of(err)
	detail, merr := s.Marshal()
	if merr != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return status.ErrorProto(&spb.Status{
		Code:    int32(Code(s)),
		Message: s.Message,
		Details: []*anypb.Any{{TypeUrl: TypeURL, Value: detail}},
	})
}

// FromGRPC is the *apierrors.StatusError for an error that a gRPC call returned. A call that ended because of the caller's
// own context keeps that cause: errors.Is finds context.Canceled or context.DeadlineExceeded. Errors that are no gRPC
// statuses pass as they are.
func FromGRPC(err error) error {
	if err == nil {
		return nil
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	st := &apierrors.StatusError{ErrStatus: fromStatus(s)}
	switch {
	case s.Code() == codes.Canceled:
		return &contextError{st, context.Canceled}
	case s.Code() == codes.DeadlineExceeded && len(s.Proto().GetDetails()) == 0:
		return &contextError{st, context.DeadlineExceeded}
	}
	return st
}

// contextError is a StatusError whose cause was the caller's context.
type contextError struct {
	status *apierrors.StatusError
	cause  error
}

func (e *contextError) Error() string   { return e.status.Error() }
func (e *contextError) Unwrap() []error { return []error{e.status, e.cause} }

func fromStatus(s *status.Status) metav1.Status {
	for _, d := range s.Proto().GetDetails() {
		if d.GetTypeUrl() == TypeURL {
			var out metav1.Status
			if err := out.Unmarshal(d.GetValue()); err == nil {
				return complete(out)
			}
		}
	}
	code, reason := fromCode(s.Code())
	return complete(metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: s.Message()})
}

// complete sets what every Status has.
func complete(s metav1.Status) metav1.Status {
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if s.Status == "" {
		s.Status = metav1.StatusFailure
	}
	if s.Code == 0 {
		s.Code = http.StatusInternalServerError
	}
	return s
}
