package mvcc_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// model is what the state machine should hold, kept in the plainest way: the whole key space once for each revision.
type model struct {
	revs   map[int64]map[string]kv.KeyValue
	events map[int64][]string
	rev    int64
}

// run applies the same random commands to the states and to the model. Every view taken on the way is checked at the end:
// it must still be what it was.
func run(t *testing.T, seed uint64, steps int, states ...*mvcc.State) *model {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &model{revs: map[int64]map[string]kv.KeyValue{1: {}}, events: map[int64][]string{}, rev: 1}
	views := map[int64]*mvcc.View{}
	leases := []int64{0, 0, 0}
	for step := range steps {
		switch n := r.IntN(100); {
		case n < 3:
			id := int64(step + 1)
			for _, s := range states {
				if err := s.GrantLease(id, 10); err != nil {
					t.Fatal(err)
				}
			}
			leases = append(leases, id)
		case n < 5 && len(leases) > 3:
			i := 3 + r.IntN(len(leases)-3)
			for _, s := range states {
				if err := s.RevokeLease(leases[i]); err != nil {
					t.Fatal(err)
				}
			}
			m.delete(func(x kv.KeyValue) bool { return x.Lease == leases[i] })
			leases = slices.Delete(leases, i, i+1)
		case n < 8:
			compacted := states[0].Stats().CompactRevision
			if m.rev > compacted+1 {
				at := compacted + 1 + r.Int64N(m.rev-compacted)
				for _, s := range states {
					if err := s.Compact(at); err != nil {
						t.Fatal(err)
					}
				}
			}
		default:
			req := randomTxn(r, leases, step)
			for _, s := range states {
				if _, err := s.Txn(&req, 0); err != nil {
					t.Fatal(err)
				}
			}
			m.apply(&req)
		}
		for _, s := range states {
			if got := s.Stats().Revision; got != m.rev {
				t.Fatalf("step %d: revision %d, want %d", step, got, m.rev)
			}
		}
		if r.IntN(10) == 0 {
			views[m.rev] = states[0].View()
		}
	}
	for rev, v := range views {
		m.check(t, v, rev)
	}
	return m
}

func randomTxn(r *rand.Rand, leases []int64, step int) kv.TxnRequest {
	req := kv.TxnRequest{TraceParent: fmt.Sprint(step % 7)}
	used := map[string]bool{}
	for range 1 + r.IntN(4) {
		k := fmt.Sprintf("k%02d", r.IntN(30))
		if used[k] {
			continue
		}
		used[k] = true
		if r.IntN(3) > 0 {
			req.Then = append(req.Then, kv.Op{Put: &kv.PutRequest{Key: []byte(k), Value: fmt.Append(nil, step), Lease: leases[r.IntN(len(leases))]}})
		} else {
			req.Then = append(req.Then, kv.Op{Delete: &kv.DeleteRequest{Key: []byte(k)}})
		}
	}
	return req
}

func (m *model) next() map[string]kv.KeyValue {
	now := map[string]kv.KeyValue{}
	for k, v := range m.revs[m.rev] {
		now[k] = v
	}
	return now
}

func (m *model) apply(req *kv.TxnRequest) {
	now, rev := m.next(), m.rev+1
	for _, op := range req.Then {
		if p := op.Put; p != nil {
			v := kv.KeyValue{Key: p.Key, Value: p.Value, Lease: p.Lease, CreateRevision: rev, ModRevision: rev, Version: 1, TraceParent: req.TraceParent}
			if old, ok := now[string(p.Key)]; ok {
				v.CreateRevision, v.Version = old.CreateRevision, old.Version+1
			}
			now[string(p.Key)] = v
			m.events[rev] = append(m.events[rev], fmt.Sprintf("put %s=%s", p.Key, p.Value))
		} else if _, ok := now[string(op.Delete.Key)]; ok {
			delete(now, string(op.Delete.Key))
			m.events[rev] = append(m.events[rev], fmt.Sprintf("delete %s", op.Delete.Key))
		}
	}
	if len(m.events[rev]) > 0 {
		m.rev, m.revs[rev] = rev, now
	}
}

func (m *model) delete(match func(kv.KeyValue) bool) {
	now, rev := m.next(), m.rev+1
	for k, v := range now {
		if match(v) {
			delete(now, k)
			m.events[rev] = append(m.events[rev], "delete "+k)
		}
	}
	slices.Sort(m.events[rev])
	if len(m.events[rev]) > 0 {
		m.rev, m.revs[rev] = rev, now
	}
}

// check compares a view, taken at revision rev, with the model at every revision that can be read.
func (m *model) check(t *testing.T, v *mvcc.View, rev int64) {
	t.Helper()
	if v.Revision() != rev {
		t.Fatalf("view at %d, want %d", v.Revision(), rev)
	}
	for at := max(1, v.CompactRevision()); at <= rev; at++ {
		resp, err := v.Range(&kv.RangeRequest{End: []byte{0}, Revision: at})
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.KVs) != len(m.revs[at]) {
			t.Fatalf("%d keys at revision %d (view %d), want %d", len(resp.KVs), at, rev, len(m.revs[at]))
		}
		for _, x := range resp.KVs {
			if fmt.Sprint(x) != fmt.Sprint(m.revs[at][string(x.Key)]) {
				t.Fatalf("at revision %d: %v, want %v", at, x, m.revs[at][string(x.Key)])
			}
		}
		var events []string
		for _, c := range v.Changes(at) {
			if e := c.Event(true); e.Type == kv.EventDelete {
				events = append(events, fmt.Sprintf("delete %s", e.KV.Key))
			} else {
				events = append(events, fmt.Sprintf("put %s=%s", e.KV.Key, e.KV.Value))
			}
		}
		if strings.Join(events, ";") != strings.Join(m.events[at], ";") {
			t.Fatalf("changes of revision %d: %v, want %v", at, events, m.events[at])
		}
	}
	if at := v.CompactRevision() - 1; at > 0 {
		if _, err := v.Range(&kv.RangeRequest{Key: []byte("x"), Revision: at}); !errors.Is(err, kv.ErrCompacted) {
			t.Fatalf("reading compacted revision %d: %v", at, err)
		}
	}
}

func snapshot(t *testing.T, s *mvcc.State) []byte {
	t.Helper()
	var b bytes.Buffer
	snap := s.Snapshot()
	snap.AppliedIndex = 42
	if err := snap.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestAgainstModel also shows that two members that apply the same commands hold the same bytes, and that one which
// continues from a snapshot in the middle ends where the others do.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(6) {
		a, b := mvcc.New(), mvcc.New()
		m := run(t, seed, 600, a, b)
		m.check(t, a.View(), m.rev)
		one, two := snapshot(t, a), snapshot(t, b)
		if !bytes.Equal(one, two) {
			t.Fatalf("seed %d: two members differ", seed)
		}
		c, index, err := mvcc.Restore(bytes.NewReader(one))
		if err != nil {
			t.Fatal(err)
		}
		if index != 42 {
			t.Fatalf("applied index %d", index)
		}
		m.check(t, c.View(), m.rev)
		if c.Stats() != a.Stats() {
			t.Fatalf("seed %d: restored %+v, want %+v", seed, c.Stats(), a.Stats())
		}
		if !bytes.Equal(snapshot(t, c), one) {
			t.Fatalf("seed %d: a restored member writes another snapshot", seed)
		}
		req := kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: []byte("k"), End: []byte("l")}}}}
		for _, s := range []*mvcc.State{a, c} {
			if _, err := s.Txn(&req, 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(a.Compact(m.rev), c.Compact(m.rev)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(snapshot(t, a), snapshot(t, c)) {
			t.Fatalf("seed %d: a restored member goes another way", seed)
		}
	}
}

func TestDamagedSnapshotIsRefused(t *testing.T) {
	s := mvcc.New()
	run(t, 7, 300, s)
	good := snapshot(t, s)
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		bad := bytes.Clone(good)
		if r.IntN(2) == 0 {
			bad = bad[:r.IntN(len(bad))]
		} else {
			bad[r.IntN(len(bad))] ^= 1 << r.IntN(8)
		}
		var damage *mvcc.DamageError
		if _, _, err := mvcc.Restore(bytes.NewReader(bad)); !errors.As(err, &damage) || !errors.Is(err, mvcc.ErrSnapshotDamaged) {
			t.Fatalf("a damaged snapshot got %v", err)
		}
		if damage.Offset < 0 || damage.Offset > int64(len(bad)) {
			t.Fatalf("damage at byte %d of %d", damage.Offset, len(bad))
		}
	}
}

func FuzzRestore(f *testing.F) {
	var b bytes.Buffer
	_ = mvcc.New().Snapshot().Write(&b)
	f.Add(b.Bytes())
	f.Fuzz(func(_ *testing.T, data []byte) {
		_, _, _ = mvcc.Restore(bytes.NewReader(data)) // must not panic
	})
}

func TestSizeFollowsContent(t *testing.T) {
	s := mvcc.New()
	put := func(k, v string) {
		if _, err := s.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(k), Value: []byte(v)}}}}, 0); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "1")
	one := s.Stats()
	for range 10 {
		put("a", "2")
	}
	many := s.Stats()
	if many.LiveBytes != one.LiveBytes || many.SizeBytes != 11*one.SizeBytes {
		t.Fatalf("sizes %d and %d, want %d and %d", many.LiveBytes, many.SizeBytes, one.LiveBytes, 11*one.SizeBytes)
	}
	if err := s.Compact(many.Revision); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.SizeBytes != one.SizeBytes {
		t.Fatalf("size %d after compaction, want %d", got.SizeBytes, one.SizeBytes)
	}
}

func BenchmarkTxnPut(b *testing.B) {
	s := mvcc.New()
	value := make([]byte, 1024)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key := fmt.Appendf(nil, "/registry/pods/default/web-%d", i%100_000)
		if _, err := s.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: key, Value: value}}}}, 0); err != nil {
			b.Fatal(err)
		}
		if i%64 == 0 {
			s.View()
		}
		if i%100_000 == 99_999 {
			if err := s.Compact(s.Stats().Revision); err != nil {
				b.Fatal(err)
			}
		}
	}
}
