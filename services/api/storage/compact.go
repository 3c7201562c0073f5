package storage

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/kv"
)

// compactKey holds the revision to which the store was last compacted by an api. Its version is the baton that several apis
// pass: who moves it on does the work.
const compactKey = "/compact_rev_key"

// RunCompaction forgets, every interval, the history before the revision that was the newest one interval ago, until ctx ends. Of several
// apis on one store, one does it each time.
func (s *Store) RunCompaction(ctx context.Context, c clock.WithTicker, interval time.Duration, log *slog.Logger) {
	ticker := c.NewTicker(interval)
	defer ticker.Stop()
	var version, revision int64
	for {
		v, r, err := s.compact(ctx, version, revision)
		switch {
		case err == nil:
			version, revision = v, r
		case ctx.Err() == nil:
			log.Warn("the store was not compacted: the next round will", "revision", revision, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// compact moves the baton from version on, and compacts to revision if it could; it returns what the next round starts from.
func (s *Store) compact(ctx context.Context, version, revision int64) (nextVersion, nextRevision int64, err error) {
	key := []byte(compactKey)
	resp, err := s.kv.Txn(ctx, kv.TxnRequest{
		Compare: []kv.Compare{{Key: key, Target: kv.CompareVersion, Result: kv.Equal, Number: version}},
		Then:    []kv.Op{{Put: &kv.PutRequest{Key: key, Value: strconv.AppendInt(nil, revision, 10)}}},
		Else:    []kv.Op{{Range: &kv.RangeRequest{Key: key}}},
	})
	if err != nil {
		return version, revision, err
	}
	if !resp.Succeeded {
		// Another api moved it, or this one has just started.
		if kvs := resp.Responses[0].Range.KVs; len(kvs) > 0 {
			return kvs[0].Version, resp.Revision, nil
		}
		return 0, resp.Revision, nil
	}
	if revision > 0 {
		if err := s.kv.Compact(ctx, revision); err != nil && !errors.Is(err, kv.ErrCompacted) {
			return version + 1, revision, err
		}
	}
	return version + 1, resp.Revision, nil
}
