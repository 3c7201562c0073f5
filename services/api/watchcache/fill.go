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
	// Starting somewhat in the past fills the windows by the replay that follows. A first fill can afford to try.
	first := h.revision.Load() == 0
	if at := newest - h.opts.Rewind; first && h.opts.Rewind > 0 && at > 0 {
		err := h.fillAt(ctx, at)
		if err == nil || !errors.Is(err, kv.ErrCompacted) {
			return err
		}
	}
	return h.fillAt(ctx, 0)
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
