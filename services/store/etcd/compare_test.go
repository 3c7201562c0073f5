package etcd

import (
	"fmt"
	"math/rand/v2"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// TestComparesMeanTheSame draws states and conditions, and compares what the store says about a condition as it is sent
// to it with what the condition says about the keys themselves, in etcd's meaning. What refutes a condition must hold
// where it was found: a nested transaction is tried again until it does.
func TestComparesMeanTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	value := func() []byte { return []byte([]string{"", "a", "b", "bb"}[r.IntN(4)]) }
	evaluate := func(s *mvcc.State, cs []kv.Compare) bool {
		resp, err := s.Txn(&kv.TxnRequest{Compare: cs}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return resp.Succeeded
	}
	fails := 0
	for range 3000 {
		s := mvcc.New()
		for range r.IntN(6) {
			key := fmt.Appendf(nil, "k%d", r.IntN(3))
			op := kv.Op{Put: &kv.PutRequest{Key: key, Value: value()}}
			if r.IntN(3) == 0 {
				op = kv.Op{Delete: &kv.DeleteRequest{Key: key}}
			}
			if _, err := s.Txn(&kv.TxnRequest{Then: []kv.Op{op}}, 0); err != nil {
				t.Fatal(err)
			}
		}
		c := &pb.Compare{
			Key: fmt.Appendf(nil, "k%d", r.IntN(3)), Target: pb.Compare_CompareTarget(r.IntN(5)), Result: pb.Compare_CompareResult(r.IntN(4)),
		}
		if r.IntN(2) == 0 {
			c.RangeEnd = [][]byte{{0}, []byte("k2"), []byte("l")}[r.IntN(3)]
		}
		switch n := int64(r.IntN(5)); c.Target {
		case pb.Compare_VERSION:
			c.TargetUnion = &pb.Compare_Version{Version: n}
		case pb.Compare_CREATE:
			c.TargetUnion = &pb.Compare_CreateRevision{CreateRevision: n}
		case pb.Compare_MOD:
			c.TargetUnion = &pb.Compare_ModRevision{ModRevision: n}
		case pb.Compare_LEASE:
			c.TargetUnion = &pb.Compare_Lease{Lease: n / 4}
		case pb.Compare_VALUE:
			c.TargetUnion = &pb.Compare_Value{Value: value()}
		}
		seen, err := s.View().Range(&kv.RangeRequest{Key: c.Key, End: c.RangeEnd})
		if err != nil {
			t.Fatal(err)
		}
		why := refutes(c, seen.KVs)
		if got := evaluate(s, toCompares(nil, []*pb.Compare{c})); got != (why == nil) {
			t.Fatalf("%v of %v: the store says %v, the keys say %v", c, seen.KVs, got, why == nil)
		}
		if why == nil {
			continue
		}
		fails++
		if !evaluate(s, []kv.Compare{*why}) {
			t.Fatalf("%v of %v is refuted by %+v, which does not hold", c, seen.KVs, *why)
		}
	}
	if fails < 500 || fails > 2500 {
		t.Fatalf("%d of 3000 conditions failed: the draw tests one side alone", fails)
	}
}

// TestWritesOf: a key may be written once, whichever branches run; the two branches of one transaction may both write it.
func TestWritesOf(t *testing.T) {
	put := func(k string) *pb.RequestOp {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestPut{RequestPut: &pb.PutRequest{Key: []byte(k)}}}
	}
	del := func(k, end string) *pb.RequestOp {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestDeleteRange{RequestDeleteRange: &pb.DeleteRangeRequest{Key: []byte(k), RangeEnd: []byte(end)}}}
	}
	txn := func(then, other []*pb.RequestOp) *pb.RequestOp {
		return &pb.RequestOp{Request: &pb.RequestOp_RequestTxn{RequestTxn: &pb.TxnRequest{Success: then, Failure: other}}}
	}
	type ops = []*pb.RequestOp
	for name, c := range map[string]struct {
		ops ops
		ok  bool
	}{
		"different keys":            {ops{put("a"), put("b"), del("c", "")}, true},
		"twice":                     {ops{put("a"), put("a")}, false},
		"put, then deleted":         {ops{put("b"), del("a", "c")}, false},
		"deleted, then put":         {ops{del("a", "c"), put("b")}, false},
		"beside the range":          {ops{del("a", "b"), put("b")}, true},
		"deleted twice":             {ops{del("a", "c"), del("b", "")}, true},
		"in either branch":          {ops{txn(ops{put("a")}, ops{put("a"), del("b", "")})}, true},
		"twice in a branch inside":  {ops{txn(nil, ops{put("a"), put("a")})}, false},
		"outside and inside":        {ops{put("a"), txn(nil, ops{put("a")})}, false},
		"inside and deleted beside": {ops{txn(ops{put("b")}, nil), del("a", "c")}, false},
		"in two inside":             {ops{txn(ops{put("a")}, nil), txn(nil, ops{txn(ops{put("a")}, nil)})}, false},
	} {
		if _, err := writesOf(c.ops); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
