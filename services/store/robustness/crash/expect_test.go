package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

// expectation is what a store must have after a crash, of what its clients know.
type expectation struct {
	acked  [writers]int
	revs   map[int64]event // acknowledged writes by revision
	rev    int64
	leases map[int64]string // the last event of each
	// compacted is acknowledged, compacting may have happened.
	compacted, compacting int64
}

func expect() *expectation { return &expectation{revs: map[int64]event{}, leases: map[int64]string{}} }

func (x *expectation) clone() *expectation {
	c := *x
	c.revs, c.leases = maps.Clone(x.revs), maps.Clone(x.leases)
	return &c
}

func (x *expectation) add(e event) {
	x.rev = max(x.rev, e.Rev)
	switch e.Kind {
	case wrote:
		x.acked[e.Writer] = e.Index
		x.revs[e.Rev] = e
	case compacting:
		x.compacting = e.Rev
	case compacted:
		x.compacted = e.Rev
	default:
		x.leases[e.Lease] = e.Kind
	}
}

// check compares a store with the expectation and makes one more write. It returns the first difference.
func (x *expectation) check(ctx context.Context, c *client.Client) error {
	rev, err := c.Revision(ctx)
	if err != nil {
		return fmt.Errorf("reading the revision: %w", err)
	}
	if rev < x.rev {
		return fmt.Errorf("the revision is %d, %d was acknowledged", rev, x.rev)
	}
	indexes, err := x.checkWriters(ctx, c)
	if err != nil {
		return err
	}
	for _, check := range []func() error{
		func() error { return x.checkHistory(ctx, c) },
		func() error { return x.checkWatch(ctx, c, rev, indexes) },
		func() error { return x.checkLeases(ctx, c) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	resp, err := c.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("/after"), Value: []byte("x")}}}})
	if err != nil {
		return fmt.Errorf("writing after the crash: %w", err)
	}
	if resp.Revision <= rev {
		return fmt.Errorf("a write after the crash got revision %d, the store had %d", resp.Revision, rev)
	}
	return nil
}

// checkWriters reads what the writers wrote and returns how far each came.
func (x *expectation) checkWriters(ctx context.Context, c *client.Client) (indexes [writers]int, err error) {
	resp, err := c.Range(ctx, kv.RangeRequest{Key: []byte("/w/"), End: kv.PrefixEnd([]byte("/w/"))})
	if err != nil {
		return indexes, fmt.Errorf("reading: %w", err)
	}
	have := map[string]kv.KeyValue{}
	for _, e := range resp.KVs {
		have[string(e.Key)] = e
	}
	for w := range writers {
		a, b := have[string(key(w, "a"))], have[string(key(w, "b"))]
		if !bytes.Equal(a.Value, b.Value) || a.ModRevision != b.ModRevision {
			return indexes, fmt.Errorf("half a transaction: writer %d has %.12q at revision %d and %.12q at %d", w, a.Value, a.ModRevision, b.Value, b.ModRevision)
		}
		i, err := indexOf(w, a.Value)
		if err != nil {
			return indexes, err
		}
		if i != x.acked[w] && i != x.acked[w]+1 {
			return indexes, fmt.Errorf("writer %d is at %d, %d was acknowledged", w, i, x.acked[w])
		}
		for n := max(1, i-keep+1); n <= i; n++ {
			k := string(key(w, fmt.Sprintf("log/%06d", n)))
			e, ok := have[k]
			if !ok {
				return indexes, fmt.Errorf("%s is lost, its writer is at %d", k, i)
			}
			if string(e.Value) != value(w, n) {
				return indexes, fmt.Errorf("%s has a wrong value of %d bytes", k, len(e.Value))
			}
			if n == i && e.ModRevision != a.ModRevision {
				return indexes, fmt.Errorf("half a transaction: %s has revision %d, its writer %d", k, e.ModRevision, a.ModRevision)
			}
			delete(have, k)
		}
		delete(have, string(key(w, "a")))
		delete(have, string(key(w, "b")))
		indexes[w] = i
	}
	if len(have) > 0 {
		return indexes, fmt.Errorf("keys that were deleted are there: %v", slices.Sorted(maps.Keys(have)))
	}
	return indexes, nil
}

// indexOf reads a writer's index from what it wrote; nothing is 0.
func indexOf(w int, value []byte) (int, error) {
	if len(value) == 0 {
		return 0, nil
	}
	head, _, _ := strings.Cut(string(value), "|")
	writer, index, _ := strings.Cut(head, ".")
	i, err := strconv.Atoi(index)
	if err != nil || writer != strconv.Itoa(w) {
		return 0, fmt.Errorf("writer %d has the value %.40q", w, value)
	}
	return i, nil
}

// checkHistory reads at revisions that were acknowledged.
func (x *expectation) checkHistory(ctx context.Context, c *client.Client) error {
	revs := slices.Sorted(maps.Keys(x.revs))
	for n := len(revs) - 1; n >= 0 && revs[n] >= x.compacting; n -= 1 + len(revs)/8 {
		e := x.revs[revs[n]]
		resp, err := c.Range(ctx, kv.RangeRequest{Key: key(e.Writer, "a"), Revision: e.Rev})
		if err != nil {
			return fmt.Errorf("reading at revision %d: %w", e.Rev, err)
		}
		if len(resp.KVs) != 1 || resp.KVs[0].ModRevision != e.Rev {
			return fmt.Errorf("revision %d shows %v, acknowledged was %v", e.Rev, resp.KVs, e)
		}
		if i, err := indexOf(e.Writer, resp.KVs[0].Value); err != nil || i != e.Index {
			return fmt.Errorf("revision %d shows index %d of writer %d, acknowledged was %d (%w)", e.Rev, i, e.Writer, e.Index, err)
		}
	}
	if x.compacted > 0 {
		if _, err := c.Range(ctx, kv.RangeRequest{Key: []byte("/w"), Revision: x.compacted - 1}); !errors.Is(err, kv.ErrCompacted) {
			return fmt.Errorf("reading before the compaction at %d got %w", x.compacted, err)
		}
	}
	return nil
}

// checkWatch follows the history from the oldest revision that is certainly there: each writer's transactions come whole,
// in order and without a gap.
func (x *expectation) checkWatch(ctx context.Context, c *client.Client, rev int64, indexes [writers]int) error {
	last := [writers]int{}
	done := func() bool {
		for w := range writers {
			if indexes[w] > last[w] && indexes[w] > 0 {
				return false
			}
		}
		return true
	}
	for _, e := range x.revs { // where the watch begins each writer has come this far already
		if e.Rev <= x.compacting {
			last[e.Writer] = max(last[e.Writer], e.Index)
		}
	}
	watch, err := c.Watch(ctx, kv.WatchRequest{Key: []byte("/w/"), End: kv.PrefixEnd([]byte("/w/")), StartRevision: x.compacting + 1})
	if err != nil {
		return fmt.Errorf("watching from revision %d: %w", x.compacting+1, err)
	}
	defer watch.Close()
	for !done() {
		resp, err := watch.Next(ctx)
		if err != nil {
			return fmt.Errorf("watching up to revision %d, seen %v of %v: %w", rev, last, indexes, err)
		}
		for _, e := range resp.Events {
			w := int(e.KV.Key[3] - '0')
			if string(e.KV.Key) != string(key(w, "a")) {
				continue
			}
			i, err := indexOf(w, e.KV.Value)
			if err != nil {
				return err
			}
			if i != last[w]+1 {
				return fmt.Errorf("the watch saw index %d of writer %d after %d", i, w, last[w])
			}
			last[w] = i
		}
	}
	return nil
}

func (x *expectation) checkLeases(ctx context.Context, c *client.Client) error {
	for id, state := range x.leases {
		resp, err := c.Range(ctx, kv.RangeRequest{Key: leaseKey(id)})
		if err != nil {
			return err
		}
		_, err = c.LeaseKeepAlive(ctx, id)
		switch {
		case state == revoking: // done or not
		case state == revoked && (len(resp.KVs) > 0 || !errors.Is(err, kv.ErrLeaseNotFound)):
			return fmt.Errorf("lease %d was revoked: it has %d keys, a keep-alive got %w", id, len(resp.KVs), err)
		case state == revoked:
		case err != nil:
			return fmt.Errorf("lease %d is lost: %w", id, err)
		case state == attached && (len(resp.KVs) != 1 || resp.KVs[0].Lease != id):
			return fmt.Errorf("lease %d has lost its key: %v", id, resp.KVs)
		}
	}
	return nil
}
