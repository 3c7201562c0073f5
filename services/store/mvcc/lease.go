package mvcc

import (
	"slices"

	"github.com/orrery-io/orrery/services/store/kv"
)

// MaxTTL is the longest time to live of a lease, in seconds.
const MaxTTL = 9_000_000_000

// lease is the replicated part of a lease. When it ends is the leader's business: it counts the time and proposes the
// revocation, so that members never have to agree on a clock.
type lease struct {
	ttl  int64
	keys map[string]struct{}
}

// GrantLease adds a lease.
func (s *State) GrantLease(id, ttl int64) error {
	if s.noSpace {
		return kv.ErrNoSpace
	}
	if s.leases[id] != nil {
		return kv.ErrLeaseExists
	}
	s.leases[id] = &lease{ttl: ttl, keys: map[string]struct{}{}}
	s.view = nil
	return nil
}

// RevokeLease ends a lease and deletes its keys as one revision.
func (s *State) RevokeLease(id int64) error {
	l := s.leases[id]
	if l == nil {
		return kv.ErrLeaseNotFound
	}
	keys := make([]string, 0, len(l.keys))
	for k := range l.keys {
		keys = append(keys, k)
	}
	slices.Sort(keys) // all members must delete in one order
	w := write{s: s, rev: s.rev + 1}
	for _, k := range keys {
		w.deleteRange([]byte(k), nil)
	}
	w.commit()
	delete(s.leases, id)
	s.view = nil
	return nil
}

// LeaseTTLs returns the granted time to live, in seconds, of every lease.
func (s *State) LeaseTTLs() map[int64]int64 {
	out := make(map[int64]int64, len(s.leases))
	for id, l := range s.leases {
		out[id] = l.ttl
	}
	return out
}

// LeaseKeys returns the keys that are attached to a lease, in order, and whether there is such a lease.
func (s *State) LeaseKeys(id int64) (keys []string, ok bool) {
	l := s.leases[id]
	if l == nil {
		return nil, false
	}
	for k := range l.keys {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys, true
}

func (s *State) attach(e *kv.KeyValue) {
	if l := s.leases[e.Lease]; l != nil {
		l.keys[string(e.Key)] = struct{}{}
	}
}

func (s *State) detach(e *kv.KeyValue) {
	if e.Lease == 0 {
		return
	}
	if l := s.leases[e.Lease]; l != nil {
		delete(l.keys, string(e.Key))
	}
}
