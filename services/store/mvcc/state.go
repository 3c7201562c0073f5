package mvcc

import (
	"maps"
	"slices"

	"github.com/orrery-io/orrery/services/store/kv"
)

// firstRevision is the revision of an empty store; the first write makes the next one. Zero stays free to mean "none".
const firstRevision = 1

// State is the writer's side. One goroutine at a time may use it; what it hands out ([View], [Snapshot]) is free.
type State struct {
	tree       *tree
	log        revLog
	rev        int64
	compactRev int64
	leases     map[int64]*lease
	members    map[string]string
	size, live int64
	keys       int64
	noSpace    bool
	// corrupt names the members whose content was found to differ; an empty name says that no majority agreed.
	corrupt map[string]struct{}
	// incarnation counts restores: a watcher of another incarnation must not go on.
	incarnation uint64
	// view is the last one handed out, nil once something changed.
	view *View
}

// New returns an empty state.
func New() *State {
	return &State{
		tree: newTree(), log: newRevLog(firstRevision), rev: firstRevision,
		leases: map[int64]*lease{}, members: map[string]string{}, corrupt: map[string]struct{}{},
	}
}

// View is the state at one moment, immutable and safe for concurrent use.
type View struct {
	tree       *tree
	log        revLog
	rev        int64
	compactRev int64
	stats      Stats
	corrupt    []string
}

// Stats are figures of a state.
type Stats struct {
	Revision, CompactRevision int64
	// SizeBytes counts all versions kept, LiveBytes the newest one of each living key.
	SizeBytes, LiveBytes int64
	Keys                 int64
	Leases               int
	NoSpace              bool
	Incarnation          uint64
}

// View returns the present state in constant time.
func (s *State) View() *View {
	if s.view == nil {
		s.view = &View{tree: s.tree.Copy(), log: s.log, rev: s.rev, compactRev: s.compactRev, stats: s.Stats(), corrupt: s.Corrupt()}
	}
	return s.view
}

// Stats returns the state's figures.
func (s *State) Stats() Stats {
	return Stats{
		Revision: s.rev, CompactRevision: s.compactRev, SizeBytes: s.size, LiveBytes: s.live, Keys: s.keys,
		Leases: len(s.leases), NoSpace: s.noSpace, Incarnation: s.incarnation,
	}
}

// SetNoSpace raises or clears the NOSPACE alarm.
func (s *State) SetNoSpace(raised bool) {
	s.noSpace = raised
	s.view = nil
}

// SetCorrupt raises the CORRUPT alarm about a member, or clears it; cleared with an empty name it is for all.
func (s *State) SetCorrupt(member string, raised bool) {
	switch {
	case raised:
		s.corrupt[member] = struct{}{}
	case member == "":
		clear(s.corrupt)
	default:
		delete(s.corrupt, member)
	}
	s.view = nil
}

// Corrupt lists, in order, the members whose content was found to differ from that of the others; an empty name says that
// no majority agreed.
func (s *State) Corrupt() []string {
	if len(s.corrupt) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(s.corrupt))
}

// SetMember notes the address at which clients reach a member; an empty address forgets it,
// and an alarm about it.
func (s *State) SetMember(name, clientAddress string) {
	if clientAddress == "" {
		delete(s.members, name)
		if _, alarmed := s.corrupt[name]; alarmed {
			s.SetCorrupt(name, false)
		}
		return
	}
	s.members[name] = clientAddress
}

// Members returns a copy of the addresses noted by SetMember.
func (s *State) Members() map[string]string { return maps.Clone(s.members) }

// Incarnation counts how often the content was replaced by a restore.
func (s *State) Incarnation() uint64 { return s.incarnation }

// RestoreStep is how far a restore moves revisions on when nothing else is asked for: more than a store hands out between
// a backup and its loss, at 10,000 writes a second for a day.
const RestoreStep = 1_000_000_000

// Supersede prepares a state read from a backup to replace present: revisions go on above all that were handed out by
// either, step above those of the backup to cover what present does not know of; the history is forgotten so that no old
// resume point can be mistaken for one of this state, and the incarnation moves on so that open watches end. The
// addresses of members stay those of the present.
func (s *State) Supersede(present Stats, members map[string]string, step int64) {
	s.rev = max(s.rev+step, present.Revision+1)
	s.log = newRevLog(s.rev)
	s.forget(s.rev)
	s.compactRev = s.rev
	s.incarnation = max(s.incarnation, present.Incarnation) + 1
	clear(s.corrupt) // all members get this content
	s.members = maps.Clone(members)
	if s.members == nil {
		s.members = map[string]string{}
	}
	s.view = nil
}

// Revision is the revision of the view.
func (v *View) Revision() int64 { return v.rev }

// CompactRevision is the oldest revision that can be read; 0 when nothing was compacted.
func (v *View) CompactRevision() int64 { return v.compactRev }

// Stats returns the figures of the view.
func (v *View) Stats() Stats { return v.stats }

// Corrupt lists the members that [State.Corrupt] lists.
func (v *View) Corrupt() []string { return v.corrupt }

// Changes are the changes of one revision between CompactRevision and Revision, in the order in which they were made.
func (v *View) Changes(rev int64) []Change { return v.log.get(rev) }

// Range reads at req.Revision, or at the view's own when that is 0.
func (v *View) Range(req *kv.RangeRequest) (*kv.RangeResponse, error) {
	if err := checkRevision(req.Revision, v.rev, v.compactRev); err != nil {
		return nil, err
	}
	rev := req.Revision
	if rev == 0 {
		rev = v.rev
	}
	return readRange(v.tree, req, rev), nil
}

// checkRevision says whether rev can be read.
func checkRevision(rev, newest, compacted int64) error {
	switch {
	case rev < 0:
		return kv.ErrInvalid
	case rev > newest:
		return kv.ErrFutureRevision
	case rev != 0 && rev < compacted:
		return kv.ErrCompacted
	}
	return nil
}
