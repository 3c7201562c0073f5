package server

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"k8s.io/utils/clock"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

const (
	// MaxMessage is the largest message that a server takes: a transaction and its framing.
	MaxMessage = 16 << 20
	// Buffer is how much is read from or written to a connection in one system call.
	Buffer = 128 << 10
	// part is the size around which a streamed answer is cut.
	part = 1 << 20
)

// Store implements StoreService.
type Store struct {
	storev1.UnimplementedStoreServiceServer
	kv     kv.KV
	pacing *pacing
	drain  chan struct{} // closed by Drain
	once   sync.Once
}

// NewStore serves a key space. The clock paces watches.
func NewStore(k kv.KV, c clock.Clock) *Store {
	return &Store{kv: k, pacing: newPacing(c), drain: make(chan struct{})}
}

// Drain asks the clients of pipelines to go elsewhere; their streams end when all is answered.
func (s *Store) Drain() { s.once.Do(func() { close(s.drain) }) }

// Range implements StoreService. Answers are written straight from the store's memory into the messages.
func (s *Store) Range(req *storev1.RangeRequest, stream grpc.ServerStreamingServer[storev1.RangeResponse]) error {
	var out wire.Pieces
	var failed error
	send := func(x *kv.KeyValue) bool {
		buf := out.Open()
		*buf = wire.AppendRangeKV(*buf, x)
		if out.Size() >= part {
			failed = stream.SendMsg(out.Frame())
		}
		return failed == nil
	}
	resp, err := s.scan(stream.Context(), *wire.ToRange(req), send)
	if err != nil {
		return wire.ToStatus(err)
	}
	if failed != nil {
		return failed
	}
	buf := out.Open()
	*buf = wire.AppendRangeResponse(*buf, resp)
	return stream.SendMsg(out.Frame())
}

// scan calls fn with each key of the answer, until it returns false.
func (s *Store) scan(ctx context.Context, req kv.RangeRequest, fn func(*kv.KeyValue) bool) (*kv.RangeResponse, error) {
	if b, ok := s.kv.(kv.Batcher); ok {
		return b.Scan(ctx, req, fn)
	}
	resp, err := s.kv.Range(ctx, req)
	if err != nil {
		return nil, err
	}
	for i := range resp.KVs {
		if !fn(&resp.KVs[i]) {
			break
		}
	}
	resp.KVs = nil
	return resp, nil
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
