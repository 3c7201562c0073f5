package etcd

import (
	"context"
	"fmt"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// Txn implements KV.
func (s keyValues) Txn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	left := mvcc.MaxTxnOps
	if err := checkTxn(r, &left); err != nil {
		return nil, err
	}
	if isNested(r.Success) || isNested(r.Failure) {
		return s.nestedTxn(ctx, r)
	}
	resp, err := s.node.Txn(ctx, kv.TxnRequest{Compare: toCompares(nil, r.Compare), Then: toOps(nil, r.Success), Else: toOps(nil, r.Failure)})
	if err != nil {
		return nil, toStatus(err)
	}
	b := answer{s: s.Server, revision: resp.Revision, rest: resp.Responses}
	out := b.txn(r, func(*pb.TxnRequest) bool { return resp.Succeeded })
	if proto := sizeOfTxn(resp); proto > maxAnswer {
		return nil, status.Errorf(codes.ResourceExhausted,
			"etcdserver: the transaction was done, but its answer has %d bytes, at most %d fit: read less in it", proto, maxAnswer)
	}
	return out, nil
}

func isNested(ops []*pb.RequestOp) bool {
	for _, op := range ops {
		if op.GetRequestTxn() != nil {
			return true
		}
	}
	return false
}

// checkTxn finds what etcd refuses before it looks at the store. left is how many conditions and operations there may
// be, counting those of transactions inside.
func checkTxn(r *pb.TxnRequest, left *int) error {
	if *left -= len(r.Compare) + len(r.Success) + len(r.Failure); *left < 0 {
		return rpctypes.ErrGRPCTooManyOps
	}
	for i, c := range r.Compare {
		if len(c.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
		_, target := pb.Compare_CompareTarget_name[int32(c.Target)]
		_, result := pb.Compare_CompareResult_name[int32(c.Result)]
		if !target || !result {
			return status.Errorf(codes.InvalidArgument, "etcdserver: comparison %d of the transaction has an unknown target or relation", i)
		}
	}
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range branch {
			if err := checkOp(op, left); err != nil {
				return err
			}
		}
		if len(branch) > 1 {
			if _, err := writesOf(branch); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkOp(op *pb.RequestOp, left *int) error {
	switch o := op.GetRequest().(type) {
	case *pb.RequestOp_RequestRange:
		return checkRange(o.RequestRange)
	case *pb.RequestOp_RequestPut:
		return checkPut(o.RequestPut)
	case *pb.RequestOp_RequestDeleteRange:
		if len(o.RequestDeleteRange.Key) == 0 {
			return rpctypes.ErrGRPCEmptyKey
		}
		return nil
	case *pb.RequestOp_RequestTxn:
		return checkTxn(o.RequestTxn, left)
	}
	return rpctypes.ErrGRPCKeyNotFound // etcd's word for an operation that is none
}

// writes are the keys that a branch may put and the ranges that it may delete.
type writes struct {
	puts map[string]struct{}
	dels []*pb.DeleteRangeRequest
}

// writesOf gathers the writes of a branch. A key may be written once in it, whichever way the transactions inside go.
func writesOf(ops []*pb.RequestOp) (writes, error) {
	w := writes{puts: map[string]struct{}{}}
	for _, op := range ops {
		var more writes
		switch o := op.GetRequest().(type) {
		case *pb.RequestOp_RequestPut:
			more.puts = map[string]struct{}{string(o.RequestPut.Key): {}}
		case *pb.RequestOp_RequestDeleteRange:
			more.dels = []*pb.DeleteRangeRequest{o.RequestDeleteRange}
		case *pb.RequestOp_RequestTxn:
			then, err := writesOf(o.RequestTxn.Success)
			if err != nil {
				return w, err
			}
			other, err := writesOf(o.RequestTxn.Failure)
			if err != nil {
				return w, err
			}
			more = then // of the two branches one runs: they may write the same
			for k := range other.puts {
				more.puts[k] = struct{}{}
			}
			more.dels = append(more.dels, other.dels...)
		}
		if err := w.add(more); err != nil {
			return w, err
		}
	}
	return w, nil
}

func (w *writes) add(more writes) error {
	for k := range more.puts {
		if _, dup := w.puts[k]; dup || deletes(w.dels, k) {
			return rpctypes.ErrGRPCDuplicateKey
		}
	}
	if len(more.dels) > 0 {
		for k := range w.puts {
			if deletes(more.dels, k) {
				return rpctypes.ErrGRPCDuplicateKey
			}
		}
	}
	for k := range more.puts {
		w.puts[k] = struct{}{}
	}
	w.dels = append(w.dels, more.dels...)
	return nil
}

func deletes(dels []*pb.DeleteRangeRequest, key string) bool {
	for _, d := range dels {
		if mvcc.Contains(d.Key, d.RangeEnd, []byte(key)) {
			return true
		}
	}
	return false
}

// toCompares appends the conditions. One on a value gets a second one: a key that does not exist has no value, so for
// etcd it fails whatever the relation, while to the store it is like an empty one.
func toCompares(to []kv.Compare, from []*pb.Compare) []kv.Compare {
	for _, c := range from {
		to = append(to, toCompare(c))
		if c.Target == pb.Compare_VALUE {
			to = append(to, kv.Compare{Key: c.Key, End: c.RangeEnd, Target: kv.CompareVersion, Result: kv.Greater})
		}
	}
	return to
}

func toCompare(c *pb.Compare) kv.Compare {
	out := kv.Compare{Key: c.Key, End: c.RangeEnd}
	switch c.Target {
	case pb.Compare_VERSION:
		out.Target, out.Number = kv.CompareVersion, c.GetVersion()
	case pb.Compare_CREATE:
		out.Target, out.Number = kv.CompareCreate, c.GetCreateRevision()
	case pb.Compare_MOD:
		out.Target, out.Number = kv.CompareMod, c.GetModRevision()
	case pb.Compare_LEASE:
		out.Target, out.Number = kv.CompareLease, c.GetLease()
	case pb.Compare_VALUE:
		out.Target, out.Value = kv.CompareValue, c.GetValue()
	}
	switch c.Result {
	case pb.Compare_EQUAL:
		out.Result = kv.Equal
	case pb.Compare_GREATER:
		out.Result = kv.Greater
	case pb.Compare_LESS:
		out.Result = kv.Less
	case pb.Compare_NOT_EQUAL:
		out.Result = kv.NotEqual
	}
	return out
}

// toOps appends the operations, which hold no transaction.
func toOps(to []kv.Op, from []*pb.RequestOp) []kv.Op {
	for _, op := range from {
		switch o := op.GetRequest().(type) {
		case *pb.RequestOp_RequestRange:
			q := toRange(o.RequestRange)
			to = append(to, kv.Op{Range: &q})
		case *pb.RequestOp_RequestPut:
			to = append(to, kv.Op{Put: toPut(o.RequestPut)})
		case *pb.RequestOp_RequestDeleteRange:
			to = append(to, kv.Op{Delete: toDelete(o.RequestDeleteRange)})
		default:
			panic(fmt.Sprintf("an operation of type %T got past the checks", o))
		}
	}
	return to
}

// answer puts the answer to a transaction together from the results of its operations, in their order.
type answer struct {
	s        *Server
	revision int64
	rest     []kv.OpResponse
}

// txn is the answer to r; succeeded says which branch ran, of r and of each transaction inside.
func (a *answer) txn(r *pb.TxnRequest, succeeded func(*pb.TxnRequest) bool) *pb.TxnResponse {
	out := &pb.TxnResponse{Header: a.s.header(a.revision), Succeeded: succeeded(r)}
	ops := r.Failure
	if out.Succeeded {
		ops = r.Success
	}
	for _, op := range ops {
		out.Responses = append(out.Responses, a.op(op, succeeded))
	}
	return out
}

func (a *answer) op(op *pb.RequestOp, succeeded func(*pb.TxnRequest) bool) *pb.ResponseOp {
	if o := op.GetRequestTxn(); o != nil {
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseTxn{ResponseTxn: a.txn(o, succeeded)}}
	}
	x := &a.rest[0]
	a.rest = a.rest[1:]
	h := &pb.ResponseHeader{Revision: a.revision} // etcd fills in nothing else within a transaction
	switch o := op.Request.(type) {
	case *pb.RequestOp_RequestRange:
		r := arrange(o.RequestRange, x.Range)
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{
			Header: h, Kvs: fromKVs(r.KVs), Count: r.Count, More: r.More}}}
	case *pb.RequestOp_RequestPut:
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{Header: h, PrevKv: firstKV(x.PrevKVs)}}}
	default:
		return &pb.ResponseOp{Response: &pb.ResponseOp_ResponseDeleteRange{ResponseDeleteRange: &pb.DeleteRangeResponse{
			Header: h, Deleted: x.Deleted, PrevKvs: fromKVs(x.PrevKVs)}}}
	}
}

func sizeOfTxn(r *kv.TxnResponse) (n int) {
	for i := range r.Responses {
		x := &r.Responses[i]
		n += sizeOf(x.PrevKVs) + overhead
		if x.Range != nil {
			n += sizeOf(x.Range.KVs)
		}
	}
	return n
}
