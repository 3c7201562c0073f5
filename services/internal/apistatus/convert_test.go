package apistatus

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRoundTrip(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		err  error
		code codes.Code
	}{
		"not found": {apierrors.NewNotFound(pods, "x"), codes.NotFound},
		"exists":    {apierrors.NewAlreadyExists(pods, "x"), codes.AlreadyExists},
		"conflict":  {apierrors.NewConflict(pods, "x", errors.New("stale")), codes.Aborted},
		"invalid": {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x",
			field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")}), codes.InvalidArgument},
		"expired":   {apierrors.NewResourceExpired("too old"), codes.OutOfRange},
		"too many":  {apierrors.NewTooManyRequests("slow down", 3), codes.ResourceExhausted},
		"wrapped":   {fmt.Errorf("while patching: %w", apierrors.NewBadRequest("bad")), codes.InvalidArgument},
		"plain":     {errors.New("disk on fire"), codes.Internal},
		"forbidden": {apierrors.NewForbidden(pods, "x", errors.New("no")), codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			wireErr := ToGRPC(tc.err)
			if got := status.Code(wireErr); got != tc.code {
				t.Errorf("code %v, want %v", got, tc.code)
			}
			var back *apierrors.StatusError
			if !errors.As(FromGRPC(wireErr), &back) {
				t.Fatalf("FromGRPC gave %T", FromGRPC(wireErr))
			}
			if want := Of(tc.err); !equality.Semantic.DeepEqual(back.ErrStatus, want) {
				t.Errorf("status\n%+v, want\n%+v", back.ErrStatus, want)
			}
			if ToGRPC(wireErr) != wireErr {
				t.Error("a gRPC error did not pass unchanged")
			}
		})
	}
}

func TestContextErrorsKeepTheirCause(t *testing.T) {
	err := FromGRPC(ToGRPC(context.Canceled))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	err = FromGRPC(status.Error(codes.DeadlineExceeded, "late"))
	if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsTimeout(err) {
		t.Errorf("deadline: %v", err)
	}
	if err := FromGRPC(status.Error(codes.Unavailable, "connection refused")); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("unavailable: %v", err)
	}
}
