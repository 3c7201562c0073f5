package watchcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/store/kv"
)

// maxPages is how many earlier states are kept for lists in pages.
const maxPages = 16

// ListResult is a page of a list, in key order.
type ListResult struct {
	Revision           int64
	Entries            []*object.Entry
	Continue           string
	RemainingItemCount *int64
}

// List returns the objects that the options select: the present state, that of an exact revision, or the next page of
// an earlier list.
func (c *Cache) List(ctx context.Context, o ListOptions) (*ListResult, error) {
	f := o.Filter.compile(&c.typ, c.typ.Namespaced)
	if o.Continue != "" {
		return c.nextPage(ctx, &f, o)
	}
	exact, fresh, err := o.state()
	if err != nil {
		return nil, err
	}
	if exact > 0 {
		return c.listAt(ctx, &f, exact, f.under, o.Limit, nil)
	}
	if err := c.hub.await(ctx, fresh); err != nil {
		return nil, err
	}
	limit := o.Limit
	if !fresh.Latest && fresh.AtLeast == 0 {
		// Any state will do: such lists are not paged, as in Kubernetes, whose clients count on it.
		limit = 0
	}
	if f.HasIndex && limit == 0 {
		return c.listIndexed(&f), nil
	}
	objects, revision := c.snapshot()
	return c.page(objects, &f, revision, f.under, limit), nil
}

// nextPage continues the list that the token comes from.
func (c *Cache) nextPage(ctx context.Context, f *compiled, o ListOptions) (*ListResult, error) {
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	revision, start, err := decodeContinue(o.Continue, c.listPrefix(f))
	if err != nil {
		return nil, err
	}
	if revision > 0 {
		return c.listAt(ctx, f, revision, start, o.Limit, func() string {
			return encodeContinue(inconsistent, start, c.listPrefix(f))
		})
	}
	if err := c.hub.Latest(ctx); err != nil {
		return nil, err
	}
	objects, now := c.snapshot()
	return c.page(objects, f, now, start, o.Limit), nil
}

// listPrefix is what tokens leave out of keys.
func (c *Cache) listPrefix(f *compiled) string {
	if f.Namespace != "" {
		return c.typ.Prefix + f.Namespace + "/"
	}
	return c.typ.Prefix
}

// listIndexed is the present state of one index value.
func (c *Cache) listIndexed(f *compiled) *ListResult {
	c.mu.RLock()
	r := &ListResult{Revision: c.current()}
	for _, e := range c.byIndex[f.Index] {
		if f.matches(e) {
			r.Entries = append(r.Entries, e)
		}
	}
	c.mu.RUnlock()
	sortByKey(r.Entries)
	return r
}

func sortByKey(entries []*object.Entry) {
	slices.SortFunc(entries, func(a, b *object.Entry) int { return cmp.Compare(a.Key, b.Key) })
}

// listAt lists the state of an exact revision. restart makes the token that a list in pages can go on from when the
// revision is gone; nil for a list that is not in pages.
func (c *Cache) listAt(ctx context.Context, f *compiled, revision int64, start string, limit int64, restart func() string) (*ListResult, error) {
	if err := c.hub.WaitFor(ctx, revision); err != nil {
		return nil, err
	}
	if objects := c.past(revision); objects != nil {
		return c.page(objects, f, revision, start, limit), nil
	}
	r, err := c.listStored(ctx, f, revision, start, limit)
	if !errors.Is(err, kv.ErrCompacted) {
		return r, err
	}
	if restart == nil {
		return nil, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results " +
		"in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.")
	expired.ErrStatus.Continue = restart()
	return nil, expired
}

// past is the state at a revision that the window still reaches back to, or that a list in pages has kept; nil when it is
// neither.
func (c *Cache) past(revision int64) *tree {
	c.mu.Lock()
	defer c.mu.Unlock()
	if revision >= c.revision {
		return c.freeze()
	}
	for _, p := range c.pages {
		if p.revision == revision {
			return p.objects
		}
	}
	if revision < c.window.floor {
		return nil
	}
	objects := c.objects.Copy()
	for n, after := c.window.next, c.window.after(revision); n > after; n-- {
		e := c.window.at(n - 1)
		if e.Prev == nil {
			objects.Delete(e.Entry.Key)
		} else {
			objects.Set(e.Prev.Key, e.Prev)
		}
	}
	c.keep(revision, objects)
	return objects
}

// keep holds a state for the pages of a list that are still to be asked for; mu is held.
func (c *Cache) keep(revision int64, objects *tree) {
	if slices.ContainsFunc(c.pages, func(p page) bool { return p.revision == revision }) {
		return
	}
	if len(c.pages) == maxPages {
		c.pages = c.pages[:maxPages-1]
	}
	c.pages = slices.Insert(c.pages, 0, page{revision, objects})
}

// page takes what matches from start on out of a frozen tree.
func (c *Cache) page(objects *tree, f *compiled, revision int64, start string, limit int64) *ListResult {
	r := &ListResult{Revision: revision}
	if f.key != "" {
		if e, ok := objects.Get(f.key); ok && start <= f.key && f.matches(e) {
			r.Entries = []*object.Entry{e}
		}
		return r
	}
	plain := f.Match == nil && !f.HasIndex && f.suffix == ""
	if limit > 0 {
		r.Entries = make([]*object.Entry, 0, min(limit, 1000))
	} else if plain && f.Namespace == "" {
		r.Entries = make([]*object.Entry, 0, objects.Len())
	}
	var more int64
	objects.Ascend(start, func(key string, e *object.Entry) bool {
		if !strings.HasPrefix(key, f.under) {
			return false
		}
		full := limit > 0 && int64(len(r.Entries)) == limit
		switch {
		case full && plain:
			more++
		case !plain && !f.matches(e):
		case full:
			more++
			return false
		default:
			r.Entries = append(r.Entries, e)
		}
		return true
	})
	if more > 0 {
		r.Continue = encodeContinue(revision, r.Entries[len(r.Entries)-1].Key+"\x00", c.listPrefix(f))
		if plain {
			r.RemainingItemCount = &more
		}
		c.mu.Lock()
		c.keep(revision, objects)
		c.mu.Unlock()
	}
	return r
}

// listStored reads a state that the cache has forgotten from the store.
func (c *Cache) listStored(ctx context.Context, f *compiled, revision int64, start string, limit int64) (*ListResult, error) {
	r := &ListResult{Revision: revision}
	plain := f.Match == nil && !f.HasIndex && f.suffix == "" && f.key == ""
	key, end := []byte(max(start, f.under)), kv.PrefixEnd([]byte(f.under))
	for {
		ask := int64(fillPage)
		if plain && limit > 0 {
			ask = min(ask, limit-int64(len(r.Entries)))
		}
		resp, err := c.hub.kv.Range(ctx, kv.RangeRequest{Key: key, End: end, Revision: revision, Limit: ask})
		if err != nil {
			if errors.Is(err, kv.ErrCompacted) {
				return nil, err
			}
			return nil, storeError(fmt.Errorf("listing %s at revision %d: %w", f.under, revision, err))
		}
		for i := range resp.KVs {
			e := c.decode(&resp.KVs[i])
			if e == nil || !f.matches(e) {
				continue
			}
			if limit > 0 && int64(len(r.Entries)) == limit {
				r.Continue = encodeContinue(revision, r.Entries[limit-1].Key+"\x00", c.listPrefix(f))
				return r, nil
			}
			r.Entries = append(r.Entries, e)
		}
		if !resp.More || len(resp.KVs) == 0 {
			return r, nil
		}
		last := resp.KVs[len(resp.KVs)-1].Key
		if plain && limit > 0 && int64(len(r.Entries)) == limit {
			r.Continue = encodeContinue(revision, string(last)+"\x00", c.listPrefix(f))
			remaining := resp.Count - int64(len(resp.KVs))
			r.RemainingItemCount = &remaining
			return r, nil
		}
		key = append(append(make([]byte, 0, len(last)+1), last...), 0)
	}
}
