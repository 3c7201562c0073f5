package raftnode

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
)

// Raft's followers stand for election when they have heard nothing for a while. Two things need not wait for that: a
// member that is the only voter at its start, and the loss of a leader whose process has ended, which the other side of
// its connections sees at once. Both are told to the library as what it knows already, a leader's order to take over.

const (
	// probeTimeout bounds the question whether the leader's port still answers.
	probeTimeout = 200 * time.Millisecond
	// headStart is what each follower leaves to the one before it, in the order of their names: two that stand at the same
	// moment may both fail.
	headStart = 200 * time.Millisecond
)

// stand makes this member a candidate now.
func (n *Node) stand() {
	self := raft.ServerAddress(n.cfg.AdvertiseAddr)
	req := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(n.cfg.Name), Addr: n.transport.EncodePeer(raft.ServerID(n.cfg.Name), self)}}
	if err := n.transport.TimeoutNow(raft.ServerID(n.cfg.Name), self, req, &raft.TimeoutNowResponse{}); err != nil {
		n.log.Debug("standing for election at once failed: it is done after the time-out", "err", err)
	}
}

// standAlone makes the only voter the leader without waiting.
func (n *Node) standAlone() {
	future := n.raft.GetConfiguration()
	if future.Error() != nil {
		return
	}
	self := false
	for _, s := range future.Configuration().Servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		if string(s.ID) != n.cfg.Name {
			return
		}
		self = true
	}
	if self {
		n.stand()
	}
}

// keepLeader looks after the leader whenever a connection of Raft's was lost, until ctx ends.
func (n *Node) keepLeader(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.mux.lost:
		}
		addr, name := n.raft.LeaderWithID()
		if addr == "" || string(name) == n.cfg.Name || !n.votes() || !gone(ctx, string(addr)) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-n.cfg.Clock.After(time.Duration(n.rank(string(name))) * headStart):
		}
		if now, _ := n.raft.LeaderWithID(); now != addr || n.raft.State() != raft.Follower || !gone(ctx, string(addr)) {
			continue
		}
		n.log.Info("the leader's process has ended, standing for election", "leader", name)
		n.stand()
	}
}

// gone reports whether nobody listens at an address on a host that answers.
func gone(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// votes reports whether this member is a voter.
func (n *Node) votes() bool {
	m, err := n.member(n.cfg.Name)
	return err == nil && m.Voter
}

// rank is how many voters other than the leader come before this member by name.
func (n *Node) rank(leader string) (before int) {
	ms, err := n.Members()
	if err != nil {
		return 0
	}
	for _, m := range ms {
		if m.Voter && m.Name != leader && m.Name < n.cfg.Name {
			before++
		}
	}
	return before
}
