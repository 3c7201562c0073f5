package server

import (
	"context"

	"google.golang.org/grpc"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

const (
	// MaxMessage is the largest message that a server takes: a transaction and its framing.
	MaxMessage = 16 << 20
	// part is the size around which a streamed answer is cut.
	part = 1 << 20
)

// Store implements StoreService.
type Store struct {
	storev1.UnimplementedStoreServiceServer
	kv kv.KV
}

// NewStore serves a key space.
func NewStore(k kv.KV) *Store { return &Store{kv: k} }

// Range implements StoreService.
func (s *Store) Range(req *storev1.RangeRequest, stream grpc.ServerStreamingServer[storev1.RangeResponse]) error {
	resp, err := s.kv.Range(stream.Context(), *wire.ToRange(req))
	if err != nil {
		return wire.ToStatus(err)
	}
	rest := resp.KVs
	for {
		n, size := 0, 0
		for n < len(rest) && size < part {
			size += len(rest[n].Key) + len(rest[n].Value) + 64
			n++
		}
		out := &storev1.RangeResponse{Kvs: wire.FromKVs(rest[:n])}
		rest = rest[n:]
		if len(rest) == 0 {
			out.Revision, out.Count, out.More = resp.Revision, resp.Count, resp.More
			return stream.Send(out)
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

// Txn implements StoreService.
func (s *Store) Txn(ctx context.Context, req *storev1.TxnRequest) (*storev1.TxnResponse, error) {
	resp, err := s.kv.Txn(ctx, *wire.ToTxn(req))
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	return wire.FromTxnResponse(resp), nil
}

// Compact implements StoreService.
func (s *Store) Compact(ctx context.Context, req *storev1.CompactRequest) (*storev1.CompactResponse, error) {
	return &storev1.CompactResponse{}, wire.ToStatus(s.kv.Compact(ctx, req.Revision))
}

// Revision implements StoreService.
func (s *Store) Revision(ctx context.Context, _ *storev1.RevisionRequest) (*storev1.RevisionResponse, error) {
	rev, err := s.kv.Revision(ctx)
	return &storev1.RevisionResponse{Revision: rev}, wire.ToStatus(err)
}

// LeaseGrant implements StoreService.
func (s *Store) LeaseGrant(ctx context.Context, req *storev1.LeaseGrantRequest) (*storev1.LeaseGrantResponse, error) {
	l, err := s.kv.LeaseGrant(ctx, req.Id, req.TtlSeconds)
	return &storev1.LeaseGrantResponse{Id: l.ID, TtlSeconds: l.GrantedTTL}, wire.ToStatus(err)
}

// LeaseRevoke implements StoreService.
func (s *Store) LeaseRevoke(ctx context.Context, req *storev1.LeaseRevokeRequest) (*storev1.LeaseRevokeResponse, error) {
	return &storev1.LeaseRevokeResponse{}, wire.ToStatus(s.kv.LeaseRevoke(ctx, req.Id))
}

// LeaseKeepAlive implements StoreService.
func (s *Store) LeaseKeepAlive(ctx context.Context, req *storev1.LeaseKeepAliveRequest) (*storev1.LeaseKeepAliveResponse, error) {
	l, err := s.kv.LeaseKeepAlive(ctx, req.Id)
	return &storev1.LeaseKeepAliveResponse{Id: l.ID, TtlSeconds: l.TTL, GrantedTtlSeconds: l.GrantedTTL}, wire.ToStatus(err)
}
