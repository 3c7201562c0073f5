package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
)

const (
	// maxAnswer bounds an answer in one message; it leaves room for framing below what the server may send.
	maxAnswer = 255 << 20
	// part is the size around which a streamed answer is cut.
	part = 1 << 20
)

// keyValues implements etcd's KV service.
type keyValues struct {
	pb.UnimplementedKVServer
	*Server
}

// Range implements KV.
func (s keyValues) Range(ctx context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	resp, err := s.read(ctx, r)
	if err != nil {
		return nil, err
	}
	if n := sizeOf(resp.KVs); n > maxAnswer {
		return nil, status.Errorf(codes.ResourceExhausted,
			"etcdserver: the answer has %d keys and %d bytes, at most %d fit into one: read it in pages (limit) or by RangeStream", len(resp.KVs), n, maxAnswer)
	}
	return s.rangeResponse(resp), nil
}

// RangeStream implements KV.
func (s keyValues) RangeStream(r *pb.RangeRequest, stream grpc.ServerStreamingServer[pb.RangeStreamResponse]) error {
	resp, err := s.read(stream.Context(), r)
	if err != nil {
		return err
	}
	last := *resp
	for rest := resp.KVs; ; {
		n, size := 0, 0
		for n < len(rest) && size < part {
			size += sizeOf(rest[n : n+1])
			n++
		}
		piece := rest[:n]
		if rest = rest[n:]; len(rest) == 0 {
			last.KVs = piece
			return stream.Send(&pb.RangeStreamResponse{RangeResponse: s.rangeResponse(&last)})
		}
		if err := stream.Send(&pb.RangeStreamResponse{RangeResponse: &pb.RangeResponse{Kvs: fromKVs(piece)}}); err != nil {
			return err
		}
	}
}

// read runs a range and brings the result into the order that was asked for. Revision of the result is the store's, as
// etcd's headers have it, not the one read at.
func (s keyValues) read(ctx context.Context, r *pb.RangeRequest) (*kv.RangeResponse, error) {
	if err := checkRange(r); err != nil {
		return nil, err
	}
	resp, err := s.node.Range(ctx, toRange(r))
	if err != nil {
		return nil, toStatus(err)
	}
	out := arrange(r, resp)
	if r.Revision > 0 {
		out.Revision = s.node.Position().Revision
	}
	return out, nil
}

func (s keyValues) rangeResponse(r *kv.RangeResponse) *pb.RangeResponse {
	return &pb.RangeResponse{Header: s.header(r.Revision), Kvs: fromKVs(r.KVs), Count: r.Count, More: r.More}
}

// Put implements KV.
func (s keyValues) Put(ctx context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	if err := checkPut(r); err != nil {
		return nil, err
	}
	resp, err := s.node.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Put: toPut(r)}}})
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.PutResponse{Header: s.header(resp.Revision), PrevKv: firstKV(resp.Responses[0].PrevKVs)}, nil
}

// DeleteRange implements KV.
func (s keyValues) DeleteRange(ctx context.Context, r *pb.DeleteRangeRequest) (*pb.DeleteRangeResponse, error) {
	if len(r.Key) == 0 {
		return nil, rpctypes.ErrGRPCEmptyKey
	}
	resp, err := s.node.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Delete: toDelete(r)}}})
	if err != nil {
		return nil, toStatus(err)
	}
	out := &resp.Responses[0]
	return &pb.DeleteRangeResponse{Header: s.header(resp.Revision), Deleted: out.Deleted, PrevKvs: fromKVs(out.PrevKVs)}, nil
}

// Compact implements KV.
func (s keyValues) Compact(ctx context.Context, r *pb.CompactionRequest) (*pb.CompactionResponse, error) {
	if err := s.node.Compact(ctx, r.Revision); err != nil {
		return nil, toStatus(err)
	}
	return &pb.CompactionResponse{Header: s.header(0)}, nil
}
