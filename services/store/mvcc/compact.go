package mvcc

import (
	"slices"
	"sort"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Compact forgets the history before rev: of each key it keeps the newest version at or before rev and all after it.
// Its cost follows the number of changes between the old and the new compaction point; a caller that wants short pauses
// compacts in steps.
func (s *State) Compact(rev int64) error {
	if rev <= s.compactRev {
		return kv.ErrCompacted
	}
	if rev > s.rev {
		return kv.ErrFutureRevision
	}
	for r := max(s.compactRev, s.log.first); r <= rev; r++ {
		for _, c := range s.log.get(r) {
			s.trim(c.v.kv.Key, rev)
		}
	}
	s.log.dropBefore(rev)
	s.compactRev = rev
	s.view = nil
	return nil
}

// trim drops the versions of key that a compaction at rev makes unreadable.
func (s *State) trim(key []byte, rev int64) {
	h, ok := s.tree.Get(&history{key: key})
	if !ok {
		return
	}
	// The newest version at or before rev is at keep.
	keep := sort.Search(len(h.vers), func(i int) bool { return h.vers[i].kv.ModRevision > rev }) - 1
	if keep < 0 {
		return
	}
	// A deletion at rev itself stays for watches that start there; one before it has nothing left to say.
	if v := h.vers[keep]; v.deleted && v.kv.ModRevision < rev {
		keep++
	}
	if keep == 0 {
		return
	}
	for _, v := range h.vers[:keep] {
		s.account(v, -1)
	}
	if keep == len(h.vers) {
		s.tree.Delete(h)
		return
	}
	s.tree.Set(&history{key: h.key, vers: slices.Clone(h.vers[keep:])})
}

// forget trims every key to its newest version, whatever the log says.
func (s *State) forget(rev int64) {
	var keys [][]byte
	s.tree.Scan(func(h *history) bool {
		if len(h.vers) > 1 || h.vers[0].deleted {
			keys = append(keys, h.key)
		}
		return true
	})
	for _, k := range keys {
		s.trim(k, rev)
	}
}
