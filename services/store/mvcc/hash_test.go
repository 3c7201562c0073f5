package mvcc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

func hash(t *testing.T, s *mvcc.State) uint64 {
	t.Helper()
	sum, ok := s.Snapshot().Hash(func(int) bool { return true })
	if !ok {
		t.Fatal("hashing gave up")
	}
	return sum
}

// TestHash: a state that was restored from a snapshot has the hash of the one that applied every command, also after both
// have gone on, and any difference shows.
func TestHash(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := mvcc.New()
	a.SetMember("one", "here:1")
	step := func(s *mvcc.State, i int, r *rand.Rand) {
		t.Helper()
		key := fmt.Appendf(nil, "/k/%d", r.IntN(40))
		var err error
		switch r.IntN(8) {
		case 0:
			_, err = s.Txn(&kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: key, End: []byte("/k/9")}}}}, 1<<30)
		case 1:
			_ = s.GrantLease(int64(i+1), 100) // may exist
		case 2:
			_ = s.RevokeLease(int64(r.IntN(i + 1)))
		case 3:
			_ = s.Compact(s.Stats().Revision - int64(r.IntN(30)))
		default:
			lease := int64(r.IntN(i + 1))
			if _, ok := s.LeaseKeys(lease); !ok {
				lease = 0
			}
			_, err = s.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: key, Value: make([]byte, r.IntN(100)), Lease: lease}}}}, 1<<30)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2000 {
		step(a, i, r)
		if i%200 != 0 {
			continue
		}
		var buf bytes.Buffer
		if err := a.Snapshot().Write(&buf); err != nil {
			t.Fatal(err)
		}
		b, _, err := mvcc.Restore(&buf)
		if err != nil {
			t.Fatal(err)
		}
		if hash(t, a) != hash(t, b) {
			t.Fatalf("after %d steps the restored state has another hash", i)
		}
		for j := range 50 {
			seed := r.Uint64()
			step(a, i+j, rand.New(rand.NewPCG(seed, 1)))
			step(b, i+j, rand.New(rand.NewPCG(seed, 1)))
			if hash(t, a) != hash(t, b) {
				t.Fatalf("%d steps after a restore at %d the states differ", j, i)
			}
		}
	}
	before := hash(t, a)
	for name, change := range map[string]func(){
		"member": func() { a.SetMember("one", "there:1") },
		"alarm":  func() { a.SetCorrupt("two", true) },
		"lease":  func() { _ = a.GrantLease(1<<40, 5) },
		"value": func() {
			_, _ = a.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("/x"), Value: []byte("y")}}}}, 1<<30)
		},
	} {
		change()
		if after := hash(t, a); after == before {
			t.Errorf("a change of a %s does not show", name)
		} else {
			before = after
		}
	}
}
