package traffic

import (
	"context"
	"math/rand/v2"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// reader reads objects in every way until done is closed.
type reader struct {
	c      *Client
	rand   *rand.Rand
	keys   []string
	prefix string
	// revision is the newest that it has seen.
	revision int64
}

func (r *reader) run(ctx context.Context, done <-chan struct{}) {
	for wait(ctx, done, r.rand) {
		key := r.keys[r.rand.IntN(len(r.keys))]
		o := &history.Op{Kind: history.Get, Keys: []string{key}}
		switch p := r.rand.IntN(100); {
		case p < 45:
			_ = r.c.get(ctx, o)
		case p < 60:
			o.Serializable = true
			_ = r.c.get(ctx, o)
		case p < 75 && r.revision > 0: // at a revision that it knows of; a member that lags may not have it
			o.Revision, o.Serializable = r.revision, true
			_ = r.c.get(ctx, o)
		case p < 82 && r.revision > 0:
			o.Revision = r.revision
			_ = r.c.get(ctx, o)
		case p < 92:
			o = &history.Op{Kind: history.List, Prefix: r.prefix, Serializable: p < 85}
			_ = r.c.list(ctx, o)
		default:
			r.pages(ctx, done)
			continue
		}
		if o.Outcome == history.OK {
			r.revision = max(r.revision, o.Header)
		}
	}
}

// pages lists the objects in pieces, all at the revision of the first one.
func (r *reader) pages(ctx context.Context, done <-chan struct{}) {
	var revision int64
	after := ""
	for {
		o := &history.Op{Kind: history.List, Prefix: r.prefix, Limit: 4, After: after, Revision: revision}
		if r.c.list(ctx, o) != nil || !o.More || len(o.Read) == 0 {
			return
		}
		revision, after = o.Header, o.Read[len(o.Read)-1].Key
		if !wait(ctx, done, r.rand) {
			return
		}
	}
}
