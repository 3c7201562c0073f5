package raftnode

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// Member is one server of the cluster.
type Member struct {
	Name, RaftAddress, ClientAddress string
	Voter, Leader                    bool
}

// ErrNoMember is wrapped when a name is not that of a member.
var ErrNoMember = errors.New("no such member")

// maxLag is how many log entries a learner may be behind when it gets its vote.
const maxLag = 1000

// changeTimeout bounds a change of membership when the caller does not.
const changeTimeout = 30 * time.Second

// IsLeader reports whether this member believes that it leads.
func (n *Node) IsLeader() bool { return n.isLeader() }

// Members lists the cluster as this member knows it.
func (n *Node) Members() ([]Member, error) {
	future := n.raft.GetConfiguration()
	if err := future.Error(); err != nil {
		return nil, err
	}
	clients := n.fsm.members()
	_, leader := n.raft.LeaderWithID()
	var out []Member
	for _, s := range future.Configuration().Servers {
		out = append(out, Member{
			Name: string(s.ID), RaftAddress: string(s.Address), ClientAddress: clients[string(s.ID)],
			Voter: s.Suffrage == raft.Voter, Leader: s.ID == leader,
		})
	}
	return out, nil
}

func (n *Node) member(name string) (Member, error) {
	ms, err := n.Members()
	if err != nil {
		return Member{}, err
	}
	for _, m := range ms {
		if m.Name == name {
			return m, nil
		}
	}
	return Member{}, fmt.Errorf("%w: %q", ErrNoMember, name)
}

// The changes below are made by the leader; other members answer kv.ErrNoLeader.

// AddLearner adds a member without a vote.
func (n *Node) AddLearner(_ context.Context, name, address string) error {
	if name == "" || address == "" {
		return fmt.Errorf("%w: a learner needs a name and the address of its Raft port", kv.ErrInvalid)
	}
	if m, err := n.member(name); err == nil && m.Voter {
		return fmt.Errorf("%w: %q is a voting member already", kv.ErrInvalid, name)
	}
	return changeError(n.raft.AddNonvoter(raft.ServerID(name), raft.ServerAddress(address), 0, changeTimeout).Error())
}

// Promote gives a learner its vote. One that lags far behind would hold up every commit that needs it, so it is refused.
func (n *Node) Promote(ctx context.Context, name string) error {
	m, err := n.member(name)
	if err != nil || m.Voter {
		return err
	}
	conn, err := n.PeerConn(m.RaftAddress)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, n.cfg.LeaderWait)
	defer cancel()
	resp, err := storev1.NewMaintenanceServiceClient(conn).Status(ctx, &storev1.StatusRequest{})
	if err != nil {
		return fmt.Errorf("%w: learner %q does not answer at %s (%s): start it, and promote it when it has caught up", kv.ErrInvalid, name, m.RaftAddress, dialError(err))
	}
	if have, want := resp.RaftAppliedIndex, n.fsm.applied.Load(); have+maxLag < want {
		return fmt.Errorf("%w: learner %q has applied log entry %d of %d, it lags by %d: wait until it has caught up", kv.ErrInvalid, name, have, want, want-have)
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	defer n.lookAlone()
	if l := n.lead.Load(); l != nil {
		l.sole.Store(false) // before the other one can vote
	}
	return changeError(n.raft.AddVoter(raft.ServerID(name), raft.ServerAddress(m.RaftAddress), 0, changeTimeout).Error())
}

// lookAlone notes whether this member, if it leads, is the only voter: then it need not ask anybody before it answers a
// read. It is called after each change of the members.
func (n *Node) lookAlone() {
	if l := n.lead.Load(); l != nil {
		select {
		case <-l.ready:
			l.sole.Store(n.soleVoter())
		default: // it is looked at then
		}
	}
}

// dialError is why a peer was not reached, without the layers around it.
func dialError(err error) string {
	text := status.Convert(err).Message()
	if i := strings.LastIndex(text, "dial tcp"); i >= 0 {
		text = strings.TrimSuffix(text[i:], `"`)
	}
	return text
}

// Remove takes a member out; a leader that removes itself steps down.
func (n *Node) Remove(ctx context.Context, name string) error {
	m, err := n.member(name)
	if err != nil {
		return err
	}
	ms, _ := n.Members()
	voters := 0
	for _, x := range ms {
		if x.Voter {
			voters++
		}
	}
	if m.Voter && voters == 1 {
		return fmt.Errorf("%w: %q is the only voting member: the store would be gone", kv.ErrInvalid, name)
	}
	n.changing.Lock()
	err = changeError(n.raft.RemoveServer(raft.ServerID(name), 0, changeTimeout).Error())
	n.lookAlone()
	n.changing.Unlock()
	if err != nil {
		return err
	}
	if name == n.cfg.Name {
		return nil
	}
	_, err = n.do(ctx, &storev1.Command{Command: &storev1.Command_Member{Member: &storev1.MemberRecord{Name: name}}})
	return err
}

// MoveLeader hands leadership to a voter, or to one that the library chooses when name is empty.
func (n *Node) MoveLeader(_ context.Context, name string) error {
	if name == "" {
		return changeError(wait(n.raft.LeadershipTransfer(), n.raftEnded))
	}
	m, err := n.member(name)
	if err != nil {
		return err
	}
	if !m.Voter {
		return fmt.Errorf("%w: %q is a learner: promote it first", kv.ErrInvalid, name)
	}
	if m.Leader {
		return nil
	}
	return changeError(wait(n.raft.LeadershipTransferToServer(raft.ServerID(m.Name), raft.ServerAddress(m.RaftAddress)), n.raftEnded))
}

func changeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress), errors.Is(err, raft.ErrEnqueueTimeout):
		return kv.ErrNoLeader
	case errors.Is(err, raft.ErrLeadershipLost):
		return fmt.Errorf("%w (%w)", kv.ErrOutcomeUnknown, err)
	}
	return fmt.Errorf("changing the store's members: %w", err)
}
