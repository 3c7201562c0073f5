package wire

import (
	"context"
	"errors"
	"strconv"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
)

// domain marks the google.rpc.ErrorInfo of the store's failures.
const domain = "store.orrery.io"

// table gives each error of package kv a gRPC code and the reason by which the other side knows it again.
var table = []struct {
	err    error
	code   codes.Code
	reason string
}{
	{kv.ErrFutureRevision, codes.OutOfRange, "FUTURE_REVISION"},
	{kv.ErrNoSpace, codes.ResourceExhausted, "NO_SPACE"},
	{kv.ErrTooLarge, codes.InvalidArgument, "TOO_LARGE"},
	{kv.ErrInvalid, codes.InvalidArgument, "INVALID"},
	{kv.ErrLeaseNotFound, codes.NotFound, "LEASE_NOT_FOUND"},
	{kv.ErrLeaseExists, codes.AlreadyExists, "LEASE_EXISTS"},
	{kv.ErrKeyNotFound, codes.NotFound, "KEY_NOT_FOUND"},
	{kv.ErrNoLeader, codes.Unavailable, "NO_LEADER"},
	{kv.ErrOutcomeUnknown, codes.Aborted, "OUTCOME_UNKNOWN"},
	{kv.ErrClosed, codes.Unavailable, "CLOSED"},
	{kv.ErrCompacted, codes.OutOfRange, "COMPACTED"}, // after the more specific expiry below
}

const reasonExpired = "EXPIRED"

// ToStatus makes the gRPC status of an error.
func ToStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	var expired *kv.ExpiredError
	if errors.As(err, &expired) {
		return withReason(codes.OutOfRange, err, reasonExpired, map[string]string{"revision": strconv.FormatInt(expired.Revision, 10)})
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return withReason(row.code, err, row.reason, nil)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}

func withReason(code codes.Code, err error, reason string, meta map[string]string) error {
	s := status.New(code, err.Error())
	if d, derr := s.WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: reason, Metadata: meta}); derr == nil {
		s = d
	}
	return s.Err()
}

// remoteError is an error of package kv as it was worded by the other side.
type remoteError struct {
	is  error
	msg string
}

func (e *remoteError) Error() string { return e.msg }
func (e *remoteError) Unwrap() error { return e.is }

// FromStatus gives back the error of package kv that a status stands for. The end of the caller's own context comes out
// as that context's error; any other status stays what it is.
func FromStatus(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	for _, d := range s.Details() {
		info, ok := d.(*errdetails.ErrorInfo)
		if !ok || info.Domain != domain {
			continue
		}
		if info.Reason == reasonExpired {
			rev, _ := strconv.ParseInt(info.Metadata["revision"], 10, 64)
			return &kv.ExpiredError{Revision: rev}
		}
		for _, row := range table {
			if row.reason == info.Reason {
				return &remoteError{is: row.err, msg: s.Message()}
			}
		}
	}
	switch s.Code() {
	case codes.Canceled, codes.DeadlineExceeded:
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
		if s.Code() == codes.DeadlineExceeded {
			return context.DeadlineExceeded
		}
	}
	return err
}

// Disconnected reports whether err means that the other side went away or could not be reached.
func Disconnected(err error) bool {
	s, ok := status.FromError(err)
	return ok && err != nil && s.Code() == codes.Unavailable
}
