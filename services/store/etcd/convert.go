package etcd

import (
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/orrery-io/orrery/services/store/kv"
)

func checkRange(r *pb.RangeRequest) error {
	if len(r.Key) == 0 {
		return rpctypes.ErrGRPCEmptyKey
	}
	_, order := pb.RangeRequest_SortOrder_name[int32(r.SortOrder)]
	_, target := pb.RangeRequest_SortTarget_name[int32(r.SortTarget)]
	if !order || !target {
		return rpctypes.ErrGRPCInvalidSortOption
	}
	return nil
}

func checkPut(r *pb.PutRequest) error {
	switch {
	case len(r.Key) == 0:
		return rpctypes.ErrGRPCEmptyKey
	case r.IgnoreValue && len(r.Value) > 0:
		return rpctypes.ErrGRPCValueProvided
	case r.IgnoreLease && r.Lease != 0:
		return rpctypes.ErrGRPCLeaseProvided
	}
	return nil
}

func toPut(r *pb.PutRequest) *kv.PutRequest {
	return &kv.PutRequest{Key: r.Key, Value: r.Value, Lease: r.Lease, PrevKV: r.PrevKv, IgnoreValue: r.IgnoreValue, IgnoreLease: r.IgnoreLease}
}

func toDelete(r *pb.DeleteRangeRequest) *kv.DeleteRequest {
	return &kv.DeleteRequest{Key: r.Key, End: r.RangeEnd, PrevKV: r.PrevKv}
}

// fromKVs converts versions of keys, all in one allocation. Their bytes stay shared with the store.
func fromKVs(kvs []kv.KeyValue) []*mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	block := make([]mvccpb.KeyValue, len(kvs))
	out := make([]*mvccpb.KeyValue, len(kvs))
	for i := range kvs {
		out[i] = &block[i]
		fill(out[i], &kvs[i])
	}
	return out
}

func firstKV(kvs []kv.KeyValue) *mvccpb.KeyValue {
	if len(kvs) == 0 {
		return nil
	}
	out := &mvccpb.KeyValue{}
	fill(out, &kvs[0])
	return out
}

func fill(to *mvccpb.KeyValue, x *kv.KeyValue) {
	to.Key, to.Value, to.Lease = x.Key, x.Value, x.Lease
	to.CreateRevision, to.ModRevision, to.Version = x.CreateRevision, x.ModRevision, x.Version
}

func fromEvents(events []kv.Event) []*mvccpb.Event {
	type slot struct {
		event mvccpb.Event
		kv    mvccpb.KeyValue
	}
	block := make([]slot, len(events))
	out := make([]*mvccpb.Event, len(events))
	for i := range events {
		e, s := &events[i], &block[i]
		fill(&s.kv, &e.KV)
		s.event.Kv = &s.kv
		if e.Type == kv.EventDelete {
			s.event.Type = mvccpb.Event_DELETE
		}
		if e.PrevKV != nil {
			s.event.PrevKv = &mvccpb.KeyValue{}
			fill(s.event.PrevKv, e.PrevKV)
		}
		out[i] = &s.event
	}
	return out
}

// overhead is about what a key costs in a message beside its bytes.
const overhead = 32

func sizeOf(kvs []kv.KeyValue) (n int) {
	for i := range kvs {
		n += len(kvs[i].Key) + len(kvs[i].Value) + overhead
	}
	return n
}

func sizeOfEvent(e *kv.Event) int {
	n := len(e.KV.Key) + len(e.KV.Value) + overhead
	if e.PrevKV != nil {
		n += len(e.PrevKV.Key) + len(e.PrevKV.Value) + overhead
	}
	return n
}
