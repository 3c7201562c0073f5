package wire

import (
	"fmt"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// FromRange converts a read.
func FromRange(r *kv.RangeRequest) *storev1.RangeRequest {
	return &storev1.RangeRequest{
		Key: r.Key, End: r.End, Revision: r.Revision, Limit: r.Limit,
		CountOnly: r.CountOnly, KeysOnly: r.KeysOnly, Serializable: r.Serializable,
	}
}

// ToRange converts a read.
func ToRange(r *storev1.RangeRequest) *kv.RangeRequest {
	return &kv.RangeRequest{
		Key: r.Key, End: r.End, Revision: r.Revision, Limit: r.Limit,
		CountOnly: r.CountOnly, KeysOnly: r.KeysOnly, Serializable: r.Serializable,
	}
}

// FromTxn converts a transaction.
func FromTxn(r *kv.TxnRequest) *storev1.TxnRequest {
	out := &storev1.TxnRequest{TraceParent: r.TraceParent, Then: fromOps(r.Then), Else: fromOps(r.Else)}
	for i := range r.Compare {
		c := &r.Compare[i]
		out.Compare = append(out.Compare, &storev1.Compare{
			Key: c.Key, End: c.End, Target: storev1.CompareTarget(c.Target + 1), Result: storev1.CompareResult(c.Result + 1),
			Number: c.Number, Value: c.Value,
		})
	}
	return out
}

func fromOps(ops []kv.Op) []*storev1.Op {
	if len(ops) == 0 {
		return nil
	}
	out := make([]*storev1.Op, len(ops))
	for i := range ops {
		out[i] = fromOp(&ops[i])
	}
	return out
}

func fromOp(op *kv.Op) *storev1.Op {
	switch {
	case op.Range != nil:
		return &storev1.Op{Op: &storev1.Op_Range{Range: FromRange(op.Range)}}
	case op.Put != nil:
		p := op.Put
		return &storev1.Op{Op: &storev1.Op_Put{Put: &storev1.PutOp{
			Key: p.Key, Value: p.Value, Lease: p.Lease, PrevKv: p.PrevKV, IgnoreValue: p.IgnoreValue, IgnoreLease: p.IgnoreLease,
		}}}
	case op.Delete != nil:
		d := op.Delete
		return &storev1.Op{Op: &storev1.Op_Delete{Delete: &storev1.DeleteOp{Key: d.Key, End: d.End, PrevKv: d.PrevKV}}}
	}
	return &storev1.Op{}
}

// ToTxn converts a transaction. Values that this version does not know become ones that mvcc.Validate refuses.
func ToTxn(r *storev1.TxnRequest) *kv.TxnRequest {
	out := &kv.TxnRequest{TraceParent: r.TraceParent, Then: toOps(r.Then), Else: toOps(r.Else)}
	if len(r.Compare) > 0 {
		out.Compare = make([]kv.Compare, len(r.Compare))
	}
	for i, c := range r.Compare {
		out.Compare[i] = kv.Compare{
			Key: c.Key, End: c.End, Target: kv.CompareTarget(c.Target - 1), Result: kv.CompareResult(c.Result - 1),
			Number: c.Number, Value: c.Value,
		}
	}
	return out
}

func toOps(ops []*storev1.Op) []kv.Op {
	if len(ops) == 0 {
		return nil
	}
	out := make([]kv.Op, len(ops))
	for i, op := range ops {
		switch o := op.Op.(type) {
		case *storev1.Op_Range:
			out[i].Range = ToRange(o.Range)
		case *storev1.Op_Put:
			p := o.Put
			out[i].Put = &kv.PutRequest{
				Key: p.Key, Value: p.Value, Lease: p.Lease, PrevKV: p.PrevKv, IgnoreValue: p.IgnoreValue, IgnoreLease: p.IgnoreLease,
			}
		case *storev1.Op_Delete:
			d := o.Delete
			out[i].Delete = &kv.DeleteRequest{Key: d.Key, End: d.End, PrevKV: d.PrevKv}
		}
	}
	return out
}

// FromWatch converts the request that creates a watch.
func FromWatch(r *kv.WatchRequest) *storev1.WatchRequest {
	return &storev1.WatchRequest{Request: &storev1.WatchRequest_Create{Create: &storev1.WatchCreate{
		Key: r.Key, End: r.End, StartRevision: r.StartRevision, PrevKv: r.PrevKV,
		NoPut: r.NoPut, NoDelete: r.NoDelete, ProgressNotify: r.ProgressNotify,
	}}}
}

// ToWatch converts the request that creates a watch.
func ToWatch(r *storev1.WatchRequest) (kv.WatchRequest, error) {
	c := r.GetCreate()
	if c == nil {
		return kv.WatchRequest{}, fmt.Errorf("%w: the first message of a watch must create it", kv.ErrInvalid)
	}
	return kv.WatchRequest{
		Key: c.Key, End: c.End, StartRevision: c.StartRevision, PrevKV: c.PrevKv,
		NoPut: c.NoPut, NoDelete: c.NoDelete, ProgressNotify: c.ProgressNotify,
	}, nil
}
