package wire

import (
	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// FromKVs converts versions of keys, all in one allocation.
func FromKVs(kvs []kv.KeyValue) []*storev1.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	block := make([]storev1.KeyValue, len(kvs))
	out := make([]*storev1.KeyValue, len(kvs))
	for i := range kvs {
		out[i] = &block[i]
		fill(out[i], &kvs[i])
	}
	return out
}

func fill(to *storev1.KeyValue, x *kv.KeyValue) {
	to.Key, to.Value, to.Lease, to.TraceParent = x.Key, x.Value, x.Lease, x.TraceParent
	to.CreateRevision, to.ModRevision, to.Version = x.CreateRevision, x.ModRevision, x.Version
}

// AppendKVs converts versions of keys and appends them to kvs.
func AppendKVs(kvs []kv.KeyValue, from []*storev1.KeyValue) []kv.KeyValue {
	for _, x := range from {
		kvs = append(kvs, toKV(x))
	}
	return kvs
}

func toKV(x *storev1.KeyValue) kv.KeyValue {
	return kv.KeyValue{
		Key: x.Key, Value: x.Value, Lease: x.Lease, TraceParent: x.TraceParent,
		CreateRevision: x.CreateRevision, ModRevision: x.ModRevision, Version: x.Version,
	}
}

// FromTxnResponse converts a transaction's result.
func FromTxnResponse(r *kv.TxnResponse) *storev1.TxnResponse {
	out := &storev1.TxnResponse{Revision: r.Revision, Succeeded: r.Succeeded}
	if len(r.Responses) > 0 {
		out.Responses = make([]*storev1.OpResponse, len(r.Responses))
	}
	for i := range r.Responses {
		x := &r.Responses[i]
		o := &storev1.OpResponse{PrevKvs: FromKVs(x.PrevKVs), Deleted: x.Deleted}
		if x.Range != nil {
			o.Range = &storev1.RangeResponse{
				Revision: x.Range.Revision, Kvs: FromKVs(x.Range.KVs), Count: x.Range.Count, More: x.Range.More,
			}
		}
		out.Responses[i] = o
	}
	return out
}

// ToTxnResponse converts a transaction's result.
func ToTxnResponse(r *storev1.TxnResponse) *kv.TxnResponse {
	out := &kv.TxnResponse{Revision: r.GetRevision(), Succeeded: r.GetSucceeded()}
	if n := len(r.GetResponses()); n > 0 {
		out.Responses = make([]kv.OpResponse, n)
	}
	for i, x := range r.GetResponses() {
		o := &out.Responses[i]
		o.PrevKVs, o.Deleted = AppendKVs(nil, x.PrevKvs), x.Deleted
		if x.Range != nil {
			o.Range = &kv.RangeResponse{
				Revision: x.Range.Revision, KVs: AppendKVs(nil, x.Range.Kvs), Count: x.Range.Count, More: x.Range.More,
			}
		}
	}
	return out
}
