package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/store/kv"
)

// Change is what an update decided for the version it was shown.
type Change struct {
	// Object is the new object, which the result takes over. With Delete it is what the deleted object is shown as; nil
	// means the version it had.
	Object object.Object
	// Delete removes the object instead.
	Delete bool
	// TTLSeconds is how long the object lives after this write; 0 is for ever.
	TTLSeconds int64
	// DryRun stops before the write.
	DryRun bool
}

// Result is what became of an update.
type Result struct {
	// Entry is the object as it now stands; of a deleted one the last version with the deletion's revision.
	Entry *object.Entry
	// Created says that there was none before, Deleted that there is none now.
	Created, Deleted bool
}

// Update replaces or deletes an object by what decide makes of its present version (nil: there is none), and writes it only if that
// version is still the newest; else decide is asked again with the newer one. cached, when not nil, is a version
// that may be out of date: it saves the first read, and neither an error nor "nothing changed" is believed before the version has been
// compared with the store's. decide must not change what it is shown, and must make a new object each time or be sure
// to refuse the second time: an object that was part of an attempt belongs to the Store.
//
// When nothing changed, nothing is written and the present version is returned.
func (s *Store) Update(ctx context.Context, c *Codec, key string, cached *object.Entry, decide func(cur *object.Entry) (Change, error)) (Result, error) {
	cur, fresh := cached, false
	var err error
	if cur == nil {
		if cur, err = s.current(ctx, c, key); err != nil {
			return Result{}, err
		}
		fresh = true
	}
	// stale replaces cur by the store's version and says whether that differs.
	stale := func() (bool, error) {
		if fresh {
			return false, nil
		}
		now, err := s.current(ctx, c, key)
		if err != nil {
			return false, err
		}
		fresh = true
		if now != nil && now.Revision == cur.Revision {
			return false, nil
		}
		cur = now
		return true, nil
	}
	for {
		change, refusal := decide(cur)
		if refusal != nil {
			again, err := stale()
			if err != nil {
				return Result{}, err
			}
			if again {
				continue
			}
			return Result{}, refusal
		}
		var value, stored []byte
		if change.Object != nil {
			if value, stored, err = c.Encode(change.Object); err != nil {
				return Result{}, err
			}
		}
		if !change.Delete && cur != nil && bytes.Equal(stored, cur.Stored()) {
			again, err := stale()
			if err != nil {
				return Result{}, err
			}
			if again {
				continue
			}
			return Result{Entry: cur}, nil
		}
		r := Result{Created: cur == nil && !change.Delete, Deleted: change.Delete}
		if change.DryRun {
			if change.Object == nil {
				r.Entry = cur
			} else {
				r.Entry = c.Entry(key, revisionOf(cur), change.Object, stored)
			}
			return r, nil
		}
		w := &written{codec: c, key: key, obj: change.Object, value: value, stored: stored, trace: kv.TraceParent(ctx)}
		if !change.Delete {
			s.handover.announce(w)
		}
		revision, newer, err := s.swap(ctx, c, key, cur, change, value)
		if revision == 0 {
			s.handover.withdraw(w)
			if err != nil {
				return Result{}, err
			}
			cur, fresh = newer, true
			continue
		}
		if change.Object == nil {
			r.Entry = cur.At(revision)
		} else {
			r.Entry = s.handover.done(w, revision)
		}
		return r, nil
	}
}

// current is Get with nil for an object that is not there.
func (s *Store) current(ctx context.Context, c *Codec, key string) (*object.Entry, error) {
	e, err := s.Get(ctx, c, key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return e, err
}

func revisionOf(e *object.Entry) int64 {
	if e == nil {
		return 0
	}
	return e.Revision
}

// swap writes the change if cur is still the newest version, and returns the write's revision; else revision is 0 and
// newer the version that is there now.
func (s *Store) swap(ctx context.Context, c *Codec, key string, cur *object.Entry, change Change, value []byte) (revision int64, newer *object.Entry, err error) {
	k := []byte(key)
	var op kv.Op
	if change.Delete {
		if cur == nil {
			return 0, nil, ErrNotFound
		}
		op.Delete = &kv.DeleteRequest{Key: k}
	} else {
		op.Put = &kv.PutRequest{Key: k, Value: value}
		if op.Put.Lease, err = s.leases.get(ctx, change.TTLSeconds); err != nil {
			return 0, nil, err
		}
	}
	resp, err := s.kv.Txn(ctx, kv.TxnRequest{
		Compare: []kv.Compare{{Key: k, Target: kv.CompareMod, Result: kv.Equal, Number: revisionOf(cur)}},
		Then:    []kv.Op{op},
		Else:    []kv.Op{{Range: &kv.RangeRequest{Key: k}}},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("writing %s: %w", key, err)
	}
	if resp.Succeeded {
		return resp.Revision, nil, nil
	}
	newer, err = only(c, key, resp.Responses[0].Range)
	if errors.Is(err, ErrNotFound) {
		return 0, nil, nil
	}
	return 0, newer, err
}
