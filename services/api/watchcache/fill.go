package watchcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidwall/btree"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
	"github.com/orrery-io/orrery/services/store/kv"
)

const fillPage = 500

// fill reads all objects at one revision and resets every cache to them. Watches that are open end with 410: what happened before that
// revision is not known.
func (h *Hub) fill(ctx context.Context) error {
	newest, err := h.kv.Revision(ctx)
	if err != nil {
		return fmt.Errorf("reading the store's revision: %w", err)
	}
	at := int64(0)
	if first := h.revision.Load() == 0; first && h.opts.Rewind > 0 {
		// Starting somewhat in the past fills the windows by the replay that follows.
		if at, err = h.oldestReadable(ctx, max(1, newest-h.opts.Rewind), newest); err != nil {
			return err
		}
	}
	if err = h.fillAt(ctx, at); errors.Is(err, kv.ErrCompacted) && at != 0 {
		err = h.fillAt(ctx, 0)
	}
	return err
}

// oldestReadable is the first revision from lo to hi that the store has not compacted. The empty store has none: 0.
func (h *Hub) oldestReadable(ctx context.Context, lo, hi int64) (int64, error) {
	if hi < lo {
		return 0, nil
	}
	for lo < hi {
		middle := lo + (hi-lo)/2
		_, err := h.kv.Range(ctx, kv.RangeRequest{Key: []byte(storage.Root), Revision: middle, KeysOnly: true, Limit: 1})
		switch {
		case err == nil:
			hi = middle
		case errors.Is(err, kv.ErrCompacted):
			lo = middle + 1
		default:
			return 0, fmt.Errorf("looking for the oldest revision: %w", err)
		}
	}
	return lo, nil
}

func (h *Hub) fillAt(ctx context.Context, revision int64) error {
	trees := make(map[*Cache]*btree.Map[string, *object.Entry], len(h.caches))
	for _, c := range h.caches {
		trees[c] = new(btree.Map[string, *object.Entry])
	}
	key, end := []byte(storage.Root), kv.PrefixEnd([]byte(storage.Root))
	for {
		resp, err := h.kv.Range(ctx, kv.RangeRequest{Key: key, End: end, Revision: revision, Limit: fillPage})
		if err != nil {
			return fmt.Errorf("reading all objects at revision %d: %w", revision, err)
		}
		revision = resp.Revision
		for i := range resp.KVs {
			item := &resp.KVs[i]
			c := h.find(item.Key)
			if c == nil {
				continue
			}
			if e := c.reuse(item); e != nil {
				trees[c].Set(e.Key, e)
			} else if e := c.decode(item); e != nil {
				trees[c].Set(e.Key, e)
			}
		}
		if !resp.More || len(resp.KVs) == 0 {
			break
		}
		key = append([]byte(nil), resp.KVs[len(resp.KVs)-1].Key...)
		key = append(key, 0)
	}
	if o := h.opts.Handover; o != nil {
		o.Clear() // their events may not come
	}
	for c, tree := range trees {
		c.reset(tree, revision)
	}
	// A restored store may be behind: the revision is set, not raised.
	h.revision.Store(revision)
	h.advanced.signal()
	select {
	case <-h.ready:
	default:
		close(h.ready)
	}
	return nil
}
