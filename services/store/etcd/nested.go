package etcd

import (
	"bytes"
	"cmp"
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/orrery-io/orrery/services/store/kv"
)

// nestedTxn runs a transaction that has transactions inside. etcd evaluates all their conditions on the state before the
// outermost one, so which branches run is known beforehand: read that state, choose, and submit the operations of the
// chosen branches as one flat transaction under conditions that hold only while the choice is right. When somebody was
// faster the conditions fail, nothing was written, and it begins again; each such round means that another write
// succeeded, so writers never block each other for good.
func (s keyValues) nestedTxn(ctx context.Context, r *pb.TxnRequest) (*pb.TxnResponse, error) {
	p := plan{asked: map[*pb.Compare]int{}}
	p.ask(r)
	for {
		if len(p.reads) > 0 {
			seen, err := s.node.Txn(ctx, kv.TxnRequest{Then: p.reads})
			if err != nil {
				return nil, toStatus(err)
			}
			p.seen = seen.Responses
		}
		p.chosen, p.guards, p.ops = map[*pb.TxnRequest]bool{}, nil, nil
		p.choose(r)
		resp, err := s.node.Txn(ctx, kv.TxnRequest{Compare: p.guards, Then: p.ops})
		if err != nil {
			return nil, toStatus(err)
		}
		if resp.Succeeded {
			a := answer{s: s.Server, revision: resp.Revision, rest: resp.Responses}
			return a.txn(r, func(t *pb.TxnRequest) bool { return p.chosen[t] }), nil
		}
	}
}

// plan is how a tree of transactions becomes one.
type plan struct {
	// reads has one range for each condition of the tree, seen the results.
	reads []kv.Op
	asked map[*pb.Compare]int // condition > place in reads
	seen  []kv.OpResponse
	// chosen says which transactions on the way succeeded; guards hold while that is right; ops are what they do.
	chosen map[*pb.TxnRequest]bool
	guards []kv.Compare
	ops    []kv.Op
}

func (p *plan) ask(r *pb.TxnRequest) {
	for _, c := range r.Compare {
		p.asked[c] = len(p.reads)
		p.reads = append(p.reads, kv.Op{Range: &kv.RangeRequest{Key: c.Key, End: c.RangeEnd, KeysOnly: c.Target != pb.Compare_VALUE}})
	}
	for _, branch := range [][]*pb.RequestOp{r.Success, r.Failure} {
		for _, op := range branch {
			if t := op.GetRequestTxn(); t != nil {
				p.ask(t)
			}
		}
	}
}

func (p *plan) choose(r *pb.TxnRequest) {
	ops := r.Success
	p.chosen[r] = true
	for _, c := range r.Compare {
		if why := refutes(c, p.seen[p.asked[c]].Range.KVs); why != nil {
			// As long as what refutes one condition stays, the transaction fails.
			p.chosen[r] = false
			p.guards = append(p.guards, *why)
			ops = r.Failure
			break
		}
	}
	if p.chosen[r] {
		p.guards = toCompares(p.guards, r.Compare)
	}
	for _, op := range ops {
		if t := op.GetRequestTxn(); t != nil {
			p.choose(t)
			continue
		}
		p.ops = toOps(p.ops, []*pb.RequestOp{op})
	}
}

// refutes returns a condition that holds now and implies that c does not; nil when c holds for kvs, the keys it is about.
func refutes(c *pb.Compare, kvs []kv.KeyValue) *kv.Compare {
	if len(kvs) == 0 {
		if c.Target != pb.Compare_VALUE && holds(c, &kv.KeyValue{}) {
			return nil
		}
		return &kv.Compare{Key: c.Key, End: c.RangeEnd, Target: kv.CompareVersion, Result: kv.Equal} // still nothing there
	}
	for i := range kvs {
		if !holds(c, &kvs[i]) {
			return &kv.Compare{Key: kvs[i].Key, Target: kv.CompareMod, Result: kv.Equal, Number: kvs[i].ModRevision}
		}
	}
	return nil
}

func holds(c *pb.Compare, have *kv.KeyValue) bool {
	var r int
	switch c.Target {
	case pb.Compare_VERSION:
		r = cmp.Compare(have.Version, c.GetVersion())
	case pb.Compare_CREATE:
		r = cmp.Compare(have.CreateRevision, c.GetCreateRevision())
	case pb.Compare_MOD:
		r = cmp.Compare(have.ModRevision, c.GetModRevision())
	case pb.Compare_LEASE:
		r = cmp.Compare(have.Lease, c.GetLease())
	case pb.Compare_VALUE:
		r = bytes.Compare(have.Value, c.GetValue())
	}
	switch c.Result {
	case pb.Compare_EQUAL:
		return r == 0
	case pb.Compare_GREATER:
		return r > 0
	case pb.Compare_LESS:
		return r < 0
	default:
		return r != 0
	}
}
