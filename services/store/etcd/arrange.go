package etcd

import (
	"bytes"
	"cmp"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/orrery-io/orrery/services/store/kv"
)

// toRange is the read that r needs: the one it asks for, or the whole range when it has to be sorted or filtered first.
func toRange(r *pb.RangeRequest) kv.RangeRequest {
	q := kv.RangeRequest{
		Key: r.Key, End: r.RangeEnd, Revision: max(r.Revision, 0), Limit: max(r.Limit, 0),
		CountOnly: r.CountOnly, KeysOnly: r.KeysOnly, Serializable: r.Serializable,
	}
	if sorts(r) || filters(r) {
		q.Limit = 0
		q.KeysOnly = r.KeysOnly && r.SortTarget != pb.RangeRequest_VALUE
	}
	return q
}

// sorts reports whether r wants another order than the store's own, by key upwards.
func sorts(r *pb.RangeRequest) bool {
	return r.SortTarget != pb.RangeRequest_KEY || r.SortOrder == pb.RangeRequest_DESCEND
}

func filters(r *pb.RangeRequest) bool {
	return r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 || r.MaxCreateRevision != 0
}

// arrange filters, sorts and cuts the result of toRange(r). Count stays that of the whole range.
func arrange(r *pb.RangeRequest, resp *kv.RangeResponse) *kv.RangeResponse {
	if !sorts(r) && !filters(r) {
		return resp
	}
	out := *resp // the slice is the reader's own, its keys and values are not
	if filters(r) {
		out.KVs = slices.DeleteFunc(out.KVs, func(x kv.KeyValue) bool {
			return x.ModRevision < r.MinModRevision || x.CreateRevision < r.MinCreateRevision ||
				(r.MaxModRevision != 0 && x.ModRevision > r.MaxModRevision) ||
				(r.MaxCreateRevision != 0 && x.CreateRevision > r.MaxCreateRevision)
		})
	}
	if sorts(r) {
		less := comparer(r.SortTarget)
		if r.SortOrder == pb.RangeRequest_DESCEND {
			up := less
			less = func(a, b kv.KeyValue) int { return up(b, a) }
		}
		slices.SortStableFunc(out.KVs, less)
	}
	out.More = false
	if r.Limit > 0 && int64(len(out.KVs)) > r.Limit {
		out.KVs, out.More = out.KVs[:r.Limit], true
	}
	if r.KeysOnly {
		for i := range out.KVs {
			out.KVs[i].Value = nil
		}
	}
	return &out
}

func comparer(target pb.RangeRequest_SortTarget) func(a, b kv.KeyValue) int {
	switch target {
	case pb.RangeRequest_VERSION:
		return func(a, b kv.KeyValue) int { return cmp.Compare(a.Version, b.Version) }
	case pb.RangeRequest_CREATE:
		return func(a, b kv.KeyValue) int { return cmp.Compare(a.CreateRevision, b.CreateRevision) }
	case pb.RangeRequest_MOD:
		return func(a, b kv.KeyValue) int { return cmp.Compare(a.ModRevision, b.ModRevision) }
	case pb.RangeRequest_VALUE:
		return func(a, b kv.KeyValue) int { return bytes.Compare(a.Value, b.Value) }
	}
	return func(a, b kv.KeyValue) int { return bytes.Compare(a.Key, b.Key) }
}
