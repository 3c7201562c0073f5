package etcd

import (
	"context"
	"errors"
	"io"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// leases implements etcd's Lease service.
type leases struct {
	pb.UnimplementedLeaseServer
	*Server
}

// LeaseGrant implements Lease. The answer says how long the lease lives, which is more than was asked for when that was
// less than a second.
func (s leases) LeaseGrant(ctx context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	if r.TTL > mvcc.MaxTTL {
		return nil, rpctypes.ErrGRPCLeaseTTLTooLarge
	}
	l, err := s.node.LeaseGrant(ctx, r.ID, max(r.TTL, 1))
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.LeaseGrantResponse{Header: s.header(0), ID: l.ID, TTL: l.GrantedTTL}, nil
}

// LeaseRevoke implements Lease.
func (s leases) LeaseRevoke(ctx context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	if err := s.node.LeaseRevoke(ctx, r.ID); err != nil {
		return nil, toStatus(err)
	}
	return &pb.LeaseRevokeResponse{Header: s.header(0)}, nil
}

// LeaseKeepAlive implements Lease. A lease that is gone is answered with a time to live of 0.
func (s leases) LeaseKeepAlive(stream grpc.BidiStreamingServer[pb.LeaseKeepAliveRequest, pb.LeaseKeepAliveResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	requests := receive(ctx, stream.Recv, func(*pb.LeaseKeepAliveRequest) {})
	for {
		select {
		case <-ctx.Done():
			return toStatus(ctx.Err())
		case <-s.stopped:
			return rpctypes.ErrGRPCStopped
		case r := <-requests:
			if errors.Is(r.err, io.EOF) {
				return nil
			}
			if r.err != nil {
				return r.err
			}
			l, err := s.node.LeaseKeepAlive(ctx, r.msg.ID)
			if err != nil && !errors.Is(err, kv.ErrLeaseNotFound) {
				return toStatus(err)
			}
			if err := stream.Send(&pb.LeaseKeepAliveResponse{Header: s.header(0), ID: r.msg.ID, TTL: l.TTL}); err != nil {
				return err
			}
		}
	}
}

// LeaseTimeToLive implements Lease. A lease that is gone is answered with a time to live of -1.
func (s leases) LeaseTimeToLive(ctx context.Context, r *pb.LeaseTimeToLiveRequest) (*pb.LeaseTimeToLiveResponse, error) {
	granted, remaining, keys, err := s.node.LeaseTimeToLive(ctx, r.ID)
	if errors.Is(err, kv.ErrLeaseNotFound) {
		return &pb.LeaseTimeToLiveResponse{Header: s.header(0), ID: r.ID, TTL: -1}, nil
	}
	if err != nil {
		return nil, toStatus(err)
	}
	out := &pb.LeaseTimeToLiveResponse{Header: s.header(0), ID: r.ID, TTL: remaining, GrantedTTL: granted}
	if r.Keys {
		out.Keys = keys
	}
	return out, nil
}

// LeaseLeases implements Lease.
func (s leases) LeaseLeases(ctx context.Context, _ *pb.LeaseLeasesRequest) (*pb.LeaseLeasesResponse, error) {
	ids, err := s.node.Leases(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	out := &pb.LeaseLeasesResponse{Header: s.header(0)}
	for _, id := range ids {
		out.Leases = append(out.Leases, &pb.LeaseStatus{ID: id})
	}
	return out, nil
}
