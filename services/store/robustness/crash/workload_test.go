package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

const (
	writers = 3
	// keep is how many entries of its log each writer leaves; it deletes older ones.
	keep = 8
)

// event is something that a client did or was told.
type event struct {
	Kind   string
	Writer int   `json:",omitempty"`
	Index  int   `json:",omitempty"`
	Rev    int64 `json:",omitempty"`
	Lease  int64 `json:",omitempty"`
}

// Kinds of events. Those in -ing come before a call, the others after its answer.
const (
	wrote      = "wrote"
	granted    = "granted"
	attached   = "attached"
	revoking   = "revoking"
	revoked    = "revoked"
	compacting = "compacting"
	compacted  = "compacted"
)

func (e event) String() string {
	data, _ := json.Marshal(e)
	return string(data)
}

// workload puts a member through everything that touches its disk. It can go on after a restart.
type workload struct {
	// note is told each event, before anything follows from it.
	note func(event) error
	// order and restart are the member's.
	snapshot func() error
	restart  func() error
	client   func() *client.Client
	// several says that there are other members that go on when one dies.
	several bool

	mu   sync.Mutex
	next [writers]int // the last index each writer has begun
	rev  int64
}

// value is what writer w writes at index i: of changing size, sometimes larger than a page of the disk, sometimes than many.
func value(w, i int) string {
	size := 40 + 700*((w+i)%4)
	switch {
	case i%7 == w:
		size = 9000
	case i%23 == w:
		size = 150_000
	}
	return fmt.Sprintf("%d.%d|%s", w, i, strings.Repeat(string(rune('a'+(w+i)%26)), size))
}

func key(w int, name string) []byte { return fmt.Appendf(nil, "/w/%d/%s", w, name) }

// write makes the next transaction of a writer: two keys and a new entry of its log get the same index, and the oldest
// entry goes.
func (x *workload) write(ctx context.Context, w int) error {
	x.mu.Lock()
	x.next[w]++
	i := x.next[w]
	x.mu.Unlock()
	v := []byte(value(w, i))
	ops := []kv.Op{
		{Put: &kv.PutRequest{Key: key(w, "a"), Value: v[:20]}},
		{Put: &kv.PutRequest{Key: key(w, "b"), Value: v[:20]}},
		{Put: &kv.PutRequest{Key: key(w, fmt.Sprintf("log/%06d", i)), Value: v}},
	}
	if i > keep {
		ops = append(ops, kv.Op{Delete: &kv.DeleteRequest{Key: key(w, fmt.Sprintf("log/%06d", i-keep))}})
	}
	rev, err := x.txn(ctx, w, i, ops)
	if err != nil {
		return fmt.Errorf("write %d.%d: %w", w, i, err)
	}
	x.mu.Lock()
	x.rev = max(x.rev, rev)
	x.mu.Unlock()
	return x.note(event{Kind: wrote, Writer: w, Index: i, Rev: rev})
}

// txn writes, and finds out what happened when another member has become the leader meanwhile.
func (x *workload) txn(ctx context.Context, w, i int, ops []kv.Op) (int64, error) {
	for {
		resp, err := x.client().Txn(ctx, kv.TxnRequest{Then: ops})
		if err == nil {
			return resp.Revision, nil
		}
		if !errors.Is(err, kv.ErrOutcomeUnknown) || !x.several {
			return 0, err
		}
		have, err := x.client().Range(ctx, kv.RangeRequest{Key: key(w, "a")})
		if err != nil {
			return 0, err
		}
		if len(have.KVs) == 1 && string(have.KVs[0].Value) == string(ops[0].Put.Value) {
			return have.KVs[0].ModRevision, nil
		}
	}
}

// writeAll lets all writers write each times, at once.
func (x *workload) writeAll(ctx context.Context, each int) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				if errs[w] = x.write(ctx, w); errs[w] != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func leaseKey(id int64) []byte { return fmt.Appendf(nil, "/l/%d", id) }

// lease grants a lease, attaches a key and revokes it again when that is wanted.
func (x *workload) lease(ctx context.Context, id int64, revoke bool) error {
	c := x.client()
	if _, err := c.LeaseGrant(ctx, id, 3600); err != nil {
		return fmt.Errorf("grant: %w", err)
	}
	if err := x.note(event{Kind: granted, Lease: id}); err != nil {
		return err
	}
	put := kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: leaseKey(id), Value: []byte("x"), Lease: id}}}}
	if _, err := c.Txn(ctx, put); err != nil {
		return fmt.Errorf("attach: %w", err)
	}
	if err := x.note(event{Kind: attached, Lease: id}); err != nil || !revoke {
		return err
	}
	if err := x.note(event{Kind: revoking, Lease: id}); err != nil {
		return err
	}
	if err := c.LeaseRevoke(ctx, id); err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	return x.note(event{Kind: revoked, Lease: id})
}

func (x *workload) compact(ctx context.Context) error {
	x.mu.Lock()
	rev := x.rev - 10
	x.mu.Unlock()
	if err := x.note(event{Kind: compacting, Rev: rev}); err != nil {
		return err
	}
	if err := x.client().Compact(ctx, rev); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return x.note(event{Kind: compacted, Rev: rev})
}

func (x *workload) defragment(ctx context.Context) error {
	_, err := x.client().Maintenance().Defragment(ctx, &storev1.DefragmentRequest{})
	return err
}

// run is one round of everything. Leases get ids from first on.
func (x *workload) run(ctx context.Context, first int64) error {
	for _, step := range []func() error{
		func() error { return x.writeAll(ctx, 6) },
		func() error { return x.lease(ctx, first, false) },
		func() error { return x.lease(ctx, first+1, true) },
		func() error { return x.snapshot() },
		func() error { return x.writeAll(ctx, 4) },
		func() error { return x.compact(ctx) },
		func() error { return x.snapshot() },
		func() error { return x.writeAll(ctx, 3) },
		func() error { return x.defragment(ctx) },
		func() error { return x.writeAll(ctx, 2) },
		func() error { return x.restart() },
		func() error { return x.lease(ctx, first+2, false) },
		func() error { return x.writeAll(ctx, 5) },
		func() error { return x.snapshot() },
		func() error { return x.writeAll(ctx, 3) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
