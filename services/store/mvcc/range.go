package mvcc

import "github.com/orrery-io/orrery/services/store/kv"

// Scan is Range without a list: it calls fn with each key that a response would hold, in order, until fn returns false. What it
// returns has no keys. What fn gets must not be changed; with KeysOnly it is a copy without the value.
func (v *View) Scan(req *kv.RangeRequest, fn func(*kv.KeyValue) bool) (*kv.RangeResponse, error) {
	if err := checkRevision(req.Revision, v.rev, v.compactRev); err != nil {
		return nil, err
	}
	rev := req.Revision
	if rev == 0 {
		rev = v.rev
	}
	return scanRange(v.tree, req, rev, fn), nil
}

func readRange(t *tree, req *kv.RangeRequest, rev int64) *kv.RangeResponse {
	var kvs []kv.KeyValue
	resp := scanRange(t, req, rev, func(x *kv.KeyValue) bool {
		kvs = append(kvs, *x)
		return true
	})
	resp.KVs = kvs
	return resp
}

func scanRange(t *tree, req *kv.RangeRequest, rev int64, fn func(*kv.KeyValue) bool) *kv.RangeResponse {
	resp := &kv.RangeResponse{Revision: rev}
	given := int64(0)
	scan(t, req.Key, req.End, func(h *history) bool {
		v := h.at(rev)
		if v == nil {
			return true
		}
		resp.Count++
		if req.CountOnly || (req.Limit > 0 && given >= req.Limit) {
			return true
		}
		given++
		if !req.KeysOnly {
			return fn(&v.kv)
		}
		x := v.kv
		x.Value = nil
		return fn(&x)
	})
	resp.More = !req.CountOnly && resp.Count > given
	return resp
}
