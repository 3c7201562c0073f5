package watch

import (
	"bytes"
	"slices"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

type set map[*Watcher]struct{}

// index finds the watchers whose range holds a key. Almost all watch one key or one prefix: those are found by hashing
// the key and its prefixes of the lengths in use. Other ranges are looked at one by one.
type index struct {
	keys     map[string]set
	prefixes map[string]set
	// lengths counts the prefixes in use by length; sorted has the lengths.
	lengths map[int]int
	sorted  []int
	ranges  set
}

func newIndex() index {
	return index{keys: map[string]set{}, prefixes: map[string]set{}, lengths: map[int]int{}, ranges: set{}}
}

func isPrefix(key, end []byte) bool { return len(end) > 0 && bytes.Equal(kv.PrefixEnd(key), end) }

func (x *index) add(w *Watcher) {
	switch {
	case len(w.req.End) == 0:
		put(x.keys, w.req.Key, w)
	case isPrefix(w.req.Key, w.req.End):
		if put(x.prefixes, w.req.Key, w) {
			x.count(len(w.req.Key), +1)
		}
	default:
		x.ranges[w] = struct{}{}
	}
}

func (x *index) remove(w *Watcher) {
	switch {
	case len(w.req.End) == 0:
		drop(x.keys, w.req.Key, w)
	case isPrefix(w.req.Key, w.req.End):
		if drop(x.prefixes, w.req.Key, w) {
			x.count(len(w.req.Key), -1)
		}
	default:
		delete(x.ranges, w)
	}
}

// match calls fn with each watcher whose range holds key.
func (x *index) match(key []byte, fn func(*Watcher)) {
	for w := range x.keys[string(key)] {
		fn(w)
	}
	for _, n := range x.sorted {
		if n > len(key) {
			break
		}
		for w := range x.prefixes[string(key[:n])] {
			fn(w)
		}
	}
	for w := range x.ranges {
		if mvcc.Contains(w.req.Key, w.req.End, key) {
			fn(w)
		}
	}
}

func (x *index) count(length, by int) {
	x.lengths[length] += by
	if x.lengths[length] == 0 {
		delete(x.lengths, length)
	}
	x.sorted = x.sorted[:0]
	for n := range x.lengths {
		x.sorted = append(x.sorted, n)
	}
	slices.Sort(x.sorted)
}

// put reports whether key is new, drop whether it is gone.
func put(m map[string]set, key []byte, w *Watcher) bool {
	s := m[string(key)]
	if s == nil {
		s = set{}
		m[string(key)] = s
	}
	s[w] = struct{}{}
	return len(s) == 1
}

func drop(m map[string]set, key []byte, w *Watcher) bool {
	s := m[string(key)]
	if _, ok := s[w]; !ok {
		return false
	}
	delete(s, w)
	if len(s) == 0 {
		delete(m, string(key))
		return true
	}
	return false
}
