package raftnode

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

const (
	// moveInterval is how long a member whose address has changed waits before it tells the others again.
	moveInterval = time.Second
	// moveTimeout bounds one such call.
	moveTimeout = 5 * time.Second
)

// announce tells the cluster where clients reach this member, as soon as there is a leader that takes it.
func (n *Node) announce(ctx context.Context) {
	if n.cfg.ClientAddress == "" {
		return
	}
	for n.WaitReady(ctx) == nil {
		if n.fsm.members()[n.cfg.Name] == n.cfg.ClientAddress {
			return
		}
		_, err := n.do(ctx, &storev1.Command{Command: &storev1.Command_Member{
			Member: &storev1.MemberRecord{Name: n.cfg.Name, ClientAddress: n.cfg.ClientAddress}}})
		switch {
		case err == nil, ctx.Err() != nil:
			return
		case errors.Is(err, kv.ErrNoLeader), errors.Is(err, kv.ErrOutcomeUnknown):
			// The leader went away meanwhile; the next one knows whether it is done.
		default:
			n.log.Warn("announcing the client address failed", "err", err)
			return
		}
	}
}

// announceMove tells the cluster at which address its peers reach this member, when it is not the one that they know: the
// leader does not find it there, so it goes to them.
func (n *Node) announceMove(ctx context.Context) {
	for {
		me, err := n.member(n.cfg.Name)
		if err != nil || me.RaftAddress == n.cfg.AdvertiseAddr {
			return // is not a member yet, or has not moved
		}
		n.log.Info("this store member has moved, telling the others", "from", me.RaftAddress, "to", n.cfg.AdvertiseAddr)
		if n.tellMove(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-n.cfg.Clock.After(moveInterval):
		}
	}
}

// tellMove asks each member to have the address changed, until one has it done.
func (n *Node) tellMove(ctx context.Context) bool {
	if n.isLeader() {
		return n.readdress(n.cfg.Name, n.cfg.AdvertiseAddr) == nil
	}
	ms, err := n.Members()
	if err != nil {
		return false
	}
	for _, m := range ms {
		if m.Name == n.cfg.Name {
			continue
		}
		conn, err := n.PeerConn(m.RaftAddress)
		if err != nil {
			return false
		}
		call, cancel := context.WithTimeout(ctx, moveTimeout)
		_, err = storev1.NewPeerServiceClient(conn).Announce(call, &storev1.AnnounceRequest{Name: n.cfg.Name, RaftAddress: n.cfg.AdvertiseAddr})
		cancel()
		if err == nil {
			return true
		}
		n.log.Debug("telling a member of the move failed", "to", m.Name, "err", err)
	}
	return false
}

// Announce is asked by a member that has moved.
func (p *peerServer) Announce(ctx context.Context, req *storev1.AnnounceRequest) (*storev1.AnnounceResponse, error) {
	if req.Name == "" || req.RaftAddress == "" {
		return nil, wire.ToStatus(fmt.Errorf("%w: a member that has moved needs a name and an address", kv.ErrInvalid))
	}
	if p.n.isLeader() {
		return &storev1.AnnounceResponse{}, wire.ToStatus(p.n.readdress(req.Name, req.RaftAddress))
	}
	conn, err := p.n.LeaderConn(ctx)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	return storev1.NewPeerServiceClient(conn).Announce(ctx, req)
}

// readdress changes the address of a member; this one leads.
func (n *Node) readdress(name, address string) error {
	m, err := n.member(name)
	if err != nil || m.RaftAddress == address {
		return err
	}
	n.changing.Lock()
	defer n.changing.Unlock()
	defer n.lookAlone()
	change := n.raft.AddNonvoter
	if m.Voter {
		change = n.raft.AddVoter // it is one
	}
	return changeError(change(raft.ServerID(name), raft.ServerAddress(address), 0, changeTimeout).Error())
}
