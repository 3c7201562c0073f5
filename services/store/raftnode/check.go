package raftnode

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/wire"
)

// Members that apply the same log hold the same content, unless memory, a compiler or this program is wrong. The leader
// checks now and then: a command in the log makes every member hash the content that it has at that entry, beside its
// work, and the leader compares. A member that differs from a majority is named by an alarm, which goes through the log
// too, and ends when it reads that.

const (
	// checksKept is how many hashes a member remembers.
	checksKept = 4
	// hashTimeout bounds the wait for the hash of one member.
	hashTimeout = time.Minute
	// hashPause after each megabyte keeps hashing from taking a processor for itself.
	hashPause = 2 * time.Millisecond
)

// checks are the hashes of this member.
type checks struct {
	mu      sync.Mutex
	byIndex map[uint64]*checked
	// after is the log entry up to which checks are history, applied again at start.
	after uint64
}

type checked struct {
	done     chan struct{}
	sum      uint64
	revision int64
}

// Consistency is what a check came to.
type Consistency struct {
	// Index and Revision are the log entry at which the members were compared and the revision there.
	Index    uint64
	Revision int64
	// Consistent says that all members answered, with one hash.
	Consistent bool
	Members    []MemberHash
}

// MemberHash is the hash of a member's content, or why there is none.
type MemberHash struct {
	Name string
	Hash uint64
	Err  error
}

// noteCheck is called by the state machine at a check.
func (n *Node) noteCheck(index uint64, s *mvcc.Snapshot) {
	c := &n.checks
	c.mu.Lock()
	defer c.mu.Unlock()
	if index <= c.after || n.ctx.Err() != nil {
		return
	}
	mine := &checked{done: make(chan struct{}), revision: s.Revision()}
	c.byIndex[index] = mine
	if len(c.byIndex) > checksKept {
		delete(c.byIndex, slices.Min(slices.Collect(maps.Keys(c.byIndex))))
	}
	n.done.Go(func() {
		sum, ok := s.Hash(func(int) bool {
			select {
			case <-n.ctx.Done():
				return false
			case <-time.After(hashPause):
				return true
			}
		})
		if ok {
			mine.sum = sum
			close(mine.done)
		}
	})
}

// hash waits for the hash of this member at a check.
func (n *Node) hash(ctx context.Context, index uint64) (sum uint64, revision int64, err error) {
	if err := n.waitApplied(ctx, index); err != nil {
		return 0, 0, err
	}
	n.checks.mu.Lock()
	c := n.checks.byIndex[index]
	n.checks.mu.Unlock()
	if c == nil {
		return 0, 0, errors.New("the member has no hash of that log entry: it was restored from a later snapshot, or started again")
	}
	select {
	case <-c.done:
		return c.sum, c.revision, nil
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	case <-n.ctx.Done():
		return 0, 0, kv.ErrClosed
	}
}

func (p *peerServer) Hash(ctx context.Context, req *storev1.HashRequest) (*storev1.HashResponse, error) {
	sum, revision, err := p.n.hash(ctx, req.Index)
	switch {
	case errors.Is(err, kv.ErrClosed), err != nil && ctx.Err() != nil:
		return nil, wire.ToStatus(err)
	case err != nil:
		return nil, status.Error(codes.NotFound, err.Error())
	}
	return &storev1.HashResponse{Hash: sum, Revision: revision}, nil
}

// CheckConsistency compares the content of all members at one log entry and raises an alarm about those that differ. The
// leader does it; another member asks it.
func (n *Node) CheckConsistency(ctx context.Context) (out Consistency, err error) {
	err = n.retry(ctx, func(ctx context.Context) error {
		if n.isLeader() {
			out, err = n.check(ctx)
		} else {
			out, err = n.askForCheck(ctx)
		}
		return err
	})
	return out, err
}

func (n *Node) askForCheck(ctx context.Context) (Consistency, error) {
	conn, err := n.LeaderConn(ctx)
	if err != nil {
		return Consistency{}, err
	}
	resp, err := storev1.NewMaintenanceServiceClient(conn).CheckConsistency(ctx, &storev1.CheckConsistencyRequest{})
	if err != nil {
		return Consistency{}, peerError(ctx, err, kv.ErrNoLeader)
	}
	out := Consistency{Index: resp.RaftIndex, Revision: resp.Revision, Consistent: resp.Consistent}
	for _, m := range resp.Members {
		h := MemberHash{Name: m.Member, Hash: m.Hash}
		if m.Error != "" {
			h.Err = errors.New(m.Error)
		}
		out.Members = append(out.Members, h)
	}
	return out, nil
}

// check is the leader's.
func (n *Node) check(ctx context.Context) (Consistency, error) {
	o, err := n.do(ctx, &storev1.Command{Command: &storev1.Command_Check{Check: &storev1.CheckCommand{}}})
	if err != nil {
		return Consistency{}, err
	}
	if o.index == 0 {
		return Consistency{}, kv.ErrNoLeader // it went to the next leader
	}
	members, err := n.Members()
	if err != nil {
		return Consistency{}, err
	}
	out := Consistency{Index: o.index, Members: make([]MemberHash, len(members))}
	ctx, cancel := context.WithTimeout(ctx, hashTimeout)
	defer cancel()
	var asked sync.WaitGroup
	for i, m := range members {
		asked.Go(func() { out.Members[i] = n.hashOf(ctx, m, o.index) })
	}
	asked.Wait()
	if _, out.Revision, err = n.hash(ctx, o.index); err != nil {
		return Consistency{}, err
	}
	return out, n.judge(ctx, &out)
}

func (n *Node) hashOf(ctx context.Context, m Member, index uint64) (h MemberHash) {
	h.Name = m.Name
	if m.Name == n.cfg.Name {
		h.Hash, _, h.Err = n.hash(ctx, index)
		return h
	}
	conn, err := n.PeerConn(m.RaftAddress)
	if err != nil {
		h.Err = err
		return h
	}
	resp, err := storev1.NewPeerServiceClient(conn).Hash(ctx, &storev1.HashRequest{Index: index})
	if err != nil {
		h.Err = fmt.Errorf("member %q at %s: %s", m.Name, m.RaftAddress, status.Convert(err).Message())
		return h
	}
	h.Hash = resp.Hash
	return h
}

// judge raises alarms about members that differ: from a majority of all, if there is one.
func (n *Node) judge(ctx context.Context, c *Consistency) error {
	votes, answered := map[uint64]int{}, 0
	for _, m := range c.Members {
		if m.Err == nil {
			votes[m.Hash]++
			answered++
		}
	}
	c.Consistent = len(votes) == 1 && answered == len(c.Members)
	if len(votes) < 2 {
		return nil
	}
	odd := []string{""} // nobody knows who
	for sum, count := range votes {
		if 2*count > len(c.Members) {
			odd = odd[:0]
			for _, m := range c.Members {
				if m.Err == nil && m.Hash != sum {
					odd = append(odd, m.Name)
				}
			}
		}
	}
	n.log.Error("members of the store hold different content", "index", c.Index, "revision", c.Revision, "members", c.Members, "differ", odd)
	for _, name := range odd {
		if err := n.SetAlarm(ctx, Alarm{Kind: storev1.AlarmType_ALARM_TYPE_CORRUPT, Member: name}, true); err != nil {
			return fmt.Errorf("the content of member %q differs, and raising the alarm failed: %w", name, err)
		}
	}
	return nil
}

// heedAlarms ends this member when the others have found that its content is not theirs.
func (n *Node) heedAlarms(corrupt []string) {
	if slices.Contains(corrupt, n.cfg.Name) {
		n.fail(fmt.Errorf("the content of store member %q differs from that of the others, so it ends: remove the member and its data folder %s, then let it join again "+
			"(docs/OPERATIONS.md, \"A divergence alarm\")", n.cfg.Name, n.cfg.DataDir))
	}
}

// keepChecking checks now and then while this member leads others, until ctx ends.
func (n *Node) keepChecking(ctx context.Context) {
	if n.cfg.CheckInterval < 0 {
		return
	}
	ticker := n.cfg.Clock.NewTicker(n.cfg.CheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if l := n.lead.Load(); l == nil || l.sole.Load() {
				continue
			}
			c, err := n.check(ctx)
			if err != nil && ctx.Err() == nil {
				n.log.Warn("comparing the members failed, it is tried again", "err", err)
			}
			for _, m := range c.Members {
				if m.Err != nil {
					n.log.Info("a member was left out of the comparison", "of", m.Name, "err", m.Err)
				}
			}
		}
	}
}

// Alarm is a warning that stands until it is cleared.
type Alarm struct {
	Kind storev1.AlarmType
	// Member is the one that it is about, empty for the whole store.
	Member string
}

// Alarms lists what is raised, as this member knows it.
func (n *Node) Alarms() (out []Alarm) {
	v := n.fsm.hub.View()
	if v.Stats().NoSpace {
		out = append(out, Alarm{Kind: storev1.AlarmType_ALARM_TYPE_NO_SPACE})
	}
	for _, m := range v.Corrupt() {
		out = append(out, Alarm{Kind: storev1.AlarmType_ALARM_TYPE_CORRUPT, Member: m})
	}
	return out
}

// SetAlarm raises or clears an alarm; one that is cleared without a member is cleared for all.
func (n *Node) SetAlarm(ctx context.Context, a Alarm, raised bool) error {
	switch a.Kind {
	case storev1.AlarmType_ALARM_TYPE_NO_SPACE, storev1.AlarmType_ALARM_TYPE_CORRUPT:
	default:
		return fmt.Errorf("%w: there is no alarm %v", kv.ErrInvalid, a.Kind)
	}
	_, err := n.do(ctx, &storev1.Command{Command: &storev1.Command_Alarm{
		Alarm: &storev1.AlarmCommand{Alarm: a.Kind, Member: a.Member, Raised: raised}}})
	return err
}
