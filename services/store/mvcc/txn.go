package mvcc

import (
	"bytes"
	"cmp"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Txn applies req as one revision. quota is the size past which writes fail and the alarm is raised; 0 is no limit.
// The state keeps copies of the request's keys and values: a value of its own size does not keep the log entry alive that it
// came in. Requests are valid (see [Validate]).
//
// Everything that can fail is looked at before the first change, so there is nothing to roll back.
func (s *State) Txn(req *kv.TxnRequest, quota int64) (*kv.TxnResponse, error) {
	resp := &kv.TxnResponse{Succeeded: true}
	for i := range req.Compare {
		if !s.holds(&req.Compare[i]) {
			resp.Succeeded = false
			break
		}
	}
	ops := req.Then
	if !resp.Succeeded {
		ops = req.Else
	}
	if err := s.precheck(ops, quota, len(req.TraceParent)); err != nil {
		return nil, err
	}
	w := write{s: s, rev: s.rev + 1, trace: req.TraceParent}
	if len(ops) > 0 {
		resp.Responses = make([]kv.OpResponse, len(ops))
	}
	for i := range ops {
		out := &resp.Responses[i]
		switch op := &ops[i]; {
		case op.Range != nil:
			out.Range = s.txnRange(op.Range)
		case op.Put != nil:
			if prev := w.put(op.Put); prev != nil && op.Put.PrevKV {
				out.PrevKVs = []kv.KeyValue{prev.kv}
			}
		case op.Delete != nil:
			for _, prev := range w.deleteRange(op.Delete.Key, op.Delete.End) {
				out.Deleted++
				if op.Delete.PrevKV {
					out.PrevKVs = append(out.PrevKVs, prev.kv)
				}
			}
		}
	}
	w.commit()
	resp.Revision = s.rev
	return resp, nil
}

// txnRange reads what the transaction has made so far, unless it names a revision.
func (s *State) txnRange(req *kv.RangeRequest) *kv.RangeResponse {
	if req.Revision != 0 {
		return readRange(s.tree, req, req.Revision)
	}
	resp := readRange(s.tree, req, s.rev+1)
	resp.Revision = s.rev
	return resp
}

// precheck finds what would make the branch fail. It may raise the alarm, which is itself a change all members make.
func (s *State) precheck(ops []kv.Op, quota int64, trace int) error {
	var grow int64
	for i := range ops {
		switch op := &ops[i]; {
		case op.Range != nil:
			if err := checkRevision(op.Range.Revision, s.rev, s.compactRev); err != nil {
				return err
			}
		case op.Put != nil:
			p := op.Put
			grow += int64(len(p.Key)+len(p.Value)+trace) + versionOverhead
			if p.IgnoreLease || p.IgnoreValue {
				if s.newest(p.Key) == nil {
					return kv.ErrKeyNotFound
				}
			}
			if !p.IgnoreLease && p.Lease != 0 && s.leases[p.Lease] == nil {
				return kv.ErrLeaseNotFound
			}
		}
	}
	if grow > 0 && (s.noSpace || (quota > 0 && s.size+grow > quota)) {
		if !s.noSpace {
			s.SetNoSpace(true)
		}
		return kv.ErrNoSpace
	}
	return nil
}

// newest is the living version of key, nil when there is none.
func (s *State) newest(key []byte) *version {
	if h, ok := s.tree.Get(&history{key: key}); ok {
		return h.at(s.rev + 1)
	}
	return nil
}

func (s *State) holds(c *kv.Compare) bool {
	if len(c.End) == 0 {
		var have kv.KeyValue
		if v := s.newest(c.Key); v != nil {
			have = v.kv
		}
		return compare(c, &have)
	}
	ok, found := true, false
	scan(s.tree, c.Key, c.End, func(h *history) bool {
		if v := h.at(s.rev); v != nil {
			ok, found = compare(c, &v.kv), true
		}
		return ok
	})
	if !found {
		return compare(c, &kv.KeyValue{})
	}
	return ok
}

func compare(c *kv.Compare, have *kv.KeyValue) bool {
	var r int
	switch c.Target {
	case kv.CompareMod:
		r = cmp.Compare(have.ModRevision, c.Number)
	case kv.CompareCreate:
		r = cmp.Compare(have.CreateRevision, c.Number)
	case kv.CompareVersion:
		r = cmp.Compare(have.Version, c.Number)
	case kv.CompareLease:
		r = cmp.Compare(have.Lease, c.Number)
	case kv.CompareValue:
		r = bytes.Compare(have.Value, c.Value)
	}
	switch c.Result {
	case kv.Equal:
		return r == 0
	case kv.Greater:
		return r > 0
	case kv.Less:
		return r < 0
	default:
		return r != 0
	}
}

// write collects the changes of one revision.
type write struct {
	s       *State
	rev     int64
	trace   string
	changes []Change
}

func (w *write) put(p *kv.PutRequest) (prev *version) {
	s := w.s
	h, _ := s.tree.Get(&history{key: p.Key})
	v := &version{pos: int32(len(w.changes)), kv: kv.KeyValue{
		Key: p.Key, Value: bytes.Clone(p.Value), Lease: p.Lease, CreateRevision: w.rev, ModRevision: w.rev, Version: 1, TraceParent: w.trace,
	}}
	if h != nil {
		v.kv.Key = h.key // one copy of the key for all its versions
		prev = h.at(w.rev)
	} else {
		v.kv.Key = bytes.Clone(p.Key)
	}
	if prev != nil {
		v.kv.CreateRevision, v.kv.Version = prev.kv.CreateRevision, prev.kv.Version+1
		if p.IgnoreValue {
			v.kv.Value = prev.kv.Value
		}
		if p.IgnoreLease {
			v.kv.Lease = prev.kv.Lease
		}
		s.detach(&prev.kv)
	}
	s.attach(&v.kv)
	w.add(h, v, prev)
	return prev
}

// deleteRange deletes and returns the living keys of a range.
func (w *write) deleteRange(key, end []byte) []*version {
	var hs []*history
	scan(w.s.tree, key, end, func(h *history) bool {
		if h.at(w.rev) != nil {
			hs = append(hs, h)
		}
		return true
	})
	prevs := make([]*version, 0, len(hs))
	for _, h := range hs {
		prev := h.at(w.rev)
		w.s.detach(&prev.kv)
		w.add(h, &version{pos: int32(len(w.changes)), deleted: true,
			kv: kv.KeyValue{Key: h.key, ModRevision: w.rev, TraceParent: w.trace}}, prev)
		prevs = append(prevs, prev)
	}
	return prevs
}

func (w *write) add(h *history, v, prev *version) {
	s := w.s
	next := &history{key: v.kv.Key}
	if h != nil {
		next.vers = h.vers
	}
	next.vers = append(next.vers, v)
	s.tree.Set(next)
	s.account(v, +1)
	if !v.deleted {
		s.live += v.cost()
		s.keys++
	}
	if prev != nil {
		s.live -= prev.cost()
		s.keys--
	}
	w.changes = append(w.changes, Change{v: v, prev: prev})
}

func (w *write) commit() {
	if len(w.changes) == 0 {
		return
	}
	w.s.rev = w.rev
	w.s.log.set(w.rev, w.changes)
	w.s.view = nil
}

func (s *State) account(v *version, sign int64) { s.size += sign * v.cost() }

// Txn runs a transaction that only reads, on the view.
func (v *View) Txn(req *kv.TxnRequest) (*kv.TxnResponse, error) {
	s := &State{tree: v.tree, rev: v.rev, compactRev: v.compactRev}
	return s.Txn(req, 0)
}
