package watchcache

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/store/kv"
)

// storeError turns an error of the store into what a client is told.
func storeError(err error) error {
	var status *apierrors.StatusError
	if err == nil || errors.As(err, &status) {
		return err
	}
	switch {
	case errors.Is(err, kv.ErrNoLeader) || errors.Is(err, kv.ErrClosed) || isUnavailable(err):
		return apierrors.NewServiceUnavailable("the store is not available: " + err.Error())
	case errors.Is(err, context.Canceled):
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: 499, Reason: metav1.StatusReasonUnknown, Message: "the client went away"}}
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, kv.ErrOutcomeUnknown):
		return apierrors.NewTimeoutError("the store did not answer in time, the write may have been done: "+err.Error(), 1)
	case errors.Is(err, kv.ErrTooLarge):
		return apierrors.NewRequestEntityTooLargeError("the object is larger than the store accepts: " + err.Error())
	case errors.Is(err, kv.ErrNoSpace):
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: metav1.StatusReasonInternalError, Message: err.Error()}}
	}
	return apierrors.NewInternalError(err)
}

// StoreError is storeError for the write path: every error that leaves the api is a *StatusError.
func StoreError(err error) error { return storeError(err) }

func isUnavailable(err error) bool {
	s, ok := status.FromError(err)
	return ok && s.Code() == codes.Unavailable
}

func contextError(ctx context.Context) error { return storeError(ctx.Err()) }

func errShuttingDown() error {
	return apierrors.NewServiceUnavailable("the api is shutting down: retry with another one")
}

func errNotReady() error {
	return apierrors.NewTooManyRequests("storage is (re)initializing", 1)
}

func errTooLarge(revision, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", revision, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

func errTooOld(revision, oldest int64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", revision, oldest))
}
