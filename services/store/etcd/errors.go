package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
)

// table gives each error of package kv the status by which clients of etcd know it.
var table = []struct{ err, status error }{
	{kv.ErrCompacted, rpctypes.ErrGRPCCompacted},
	{kv.ErrFutureRevision, rpctypes.ErrGRPCFutureRev},
	{kv.ErrNoSpace, rpctypes.ErrGRPCNoSpace},
	{kv.ErrTooLarge, rpctypes.ErrGRPCRequestTooLarge},
	{kv.ErrLeaseNotFound, rpctypes.ErrGRPCLeaseNotFound},
	{kv.ErrLeaseExists, rpctypes.ErrGRPCLeaseExist},
	{kv.ErrKeyNotFound, rpctypes.ErrGRPCKeyNotFound},
	{kv.ErrNoLeader, rpctypes.ErrGRPCNoLeader},
	{kv.ErrClosed, rpctypes.ErrGRPCStopped},
	// Clients take this one as "may have happened" and do not repeat a write on it.
	{kv.ErrOutcomeUnknown, rpctypes.ErrGRPCTimeoutDueToLeaderFail},
}

// toStatus translates an error. The statuses of etcd are known by their text, so ours gives way to it.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return row.status
		}
	}
	switch {
	case errors.Is(err, kv.ErrInvalid):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}
