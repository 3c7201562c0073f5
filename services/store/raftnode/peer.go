package raftnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/wire"
)

// maxPeerMessage bounds a message between peers: a transaction's response may hold many previous values.
const maxPeerMessage = 256 << 20

// retryPause is how long a request that found no leader waits at most before it looks again.
const retryPause = 50 * time.Millisecond

// retry calls fn until it finds a leader, for the time that the configuration gives it.
func (n *Node) retry(ctx context.Context, fn func(context.Context) error) error {
	var limit <-chan time.Time
	for {
		changed := n.changed.wait()
		err := fn(ctx)
		if !errors.Is(err, kv.ErrNoLeader) {
			return err
		}
		if limit == nil {
			limit = time.After(n.cfg.LeaderWait)
		}
		select {
		case <-changed:
		case <-time.After(retryPause): // what changed may have changed on another member
		case <-limit:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-n.ctx.Done():
			return kv.ErrClosed
		}
	}
}

// do has a command applied, by this member or by the leader, and waits for it.
func (n *Node) do(ctx context.Context, cmd *storev1.Command) (out outcome, err error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	err = n.retry(ctx, func(ctx context.Context) error {
		if n.isLeader() {
			out, err = n.proposer.propose(ctx, cmd)
		} else {
			out, err = n.forward(ctx, cmd)
		}
		return err
	})
	return out, err
}

// doTxn is do for a transaction.
func (n *Node) doTxn(ctx context.Context, req *kv.TxnRequest) (out outcome, err error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	err = n.retry(ctx, func(ctx context.Context) error {
		if n.isLeader() {
			out, err = n.proposer.proposeTxn(ctx, req)
		} else {
			out, err = n.forward(ctx, &storev1.Command{Command: &storev1.Command_Txn{Txn: wire.FromTxn(req)}})
		}
		return err
	})
	return out, err
}

// forward passes a command to the leader.
func (n *Node) forward(ctx context.Context, cmd *storev1.Command) (outcome, error) {
	var resp *storev1.ProposeResponse
	err := n.askLeader(ctx, kv.ErrOutcomeUnknown, func(ctx context.Context, leader storev1.PeerServiceClient) (err error) {
		resp, err = leader.Propose(ctx, &storev1.ProposeRequest{Command: cmd})
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	return outcome{txn: wire.ToTxnResponse(resp.Txn)}, nil
}

// LeaderConn is a working connection to the leader, another member.
func (n *Node) LeaderConn(ctx context.Context) (*grpc.ClientConn, error) {
	conn, _, err := n.leaderConn(ctx)
	return conn, err
}

func (n *Node) leaderConn(ctx context.Context) (conn *grpc.ClientConn, address string, err error) {
	addr, name := n.raft.LeaderWithID()
	if addr == "" || string(name) == n.cfg.Name {
		return nil, "", kv.ErrNoLeader
	}
	conn, err = n.PeerConn(string(addr))
	if err != nil {
		return nil, "", err
	}
	// A call on a connection that is not up could not tell "never sent" from "outcome unknown", so it waits here. A leader
	// that does not answer is none; the limit is the retry's.
	ctx, cancel := context.WithTimeout(ctx, n.cfg.LeaderWait)
	defer cancel()
	for {
		s := conn.GetState()
		switch s {
		case connectivity.Ready:
			return conn, string(addr), nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			conn.ResetConnectBackoff()
			return nil, "", kv.ErrNoLeader
		}
		conn.Connect()
		if !conn.WaitForStateChange(ctx, s) {
			return nil, "", kv.ErrNoLeader
		}
	}
}

// PeerConn is a connection to a member by the address of its peers' port.
func (n *Node) PeerConn(addr string) (*grpc.ClientConn, error) {
	n.connMu.Lock()
	defer n.connMu.Unlock()
	if c := n.conns[addr]; c != nil {
		return c, nil
	}
	if n.ctx.Err() != nil {
		return nil, kv.ErrClosed
	}
	c, err := grpc.NewClient("passthrough:///"+addr, append(telemetry.DialOptions("store"),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the dialer secures the connection
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return n.mux.dial(ctx, addr, protocolGRPC) }),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}, MinConnectTimeout: 2 * time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxPeerMessage), grpc.MaxCallSendMsgSize(maxPeerMessage)),
	)...)
	if err != nil {
		return nil, fmt.Errorf("the store member at %s cannot be dialed: %w", addr, err)
	}
	n.conns[addr] = c
	return c, nil
}

// newPeerServer makes the gRPC server of the peers' port.
func newPeerServer(n *Node) *grpc.Server {
	s := grpc.NewServer(append(telemetry.ServerOptions("store"),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}),
		grpc.MaxRecvMsgSize(maxPeerMessage), grpc.MaxSendMsgSize(maxPeerMessage),
	)...)
	storev1.RegisterPeerServiceServer(s, &peerServer{n: n})
	if n.cfg.RegisterPeerServices != nil {
		n.cfg.RegisterPeerServices(s, n)
	}
	return s
}

// peerServer answers members that believe this one to be the leader.
type peerServer struct {
	storev1.UnimplementedPeerServiceServer
	n *Node
}

func (p *peerServer) Propose(ctx context.Context, req *storev1.ProposeRequest) (*storev1.ProposeResponse, error) {
	if req.GetCommand().GetCommand() == nil {
		return nil, wire.ToStatus(fmt.Errorf("%w: no command", kv.ErrInvalid))
	}
	if t := req.Command.GetTxn(); t != nil {
		if err := mvcc.Validate(wire.ToTxn(t)); err != nil {
			return nil, wire.ToStatus(err)
		}
	}
	if !p.n.isLeader() {
		return nil, wire.ToStatus(kv.ErrNoLeader)
	}
	o, err := p.n.proposer.propose(ctx, req.Command)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	resp := &storev1.ProposeResponse{}
	if o.txn != nil {
		resp.Txn = wire.FromTxnResponse(o.txn)
	}
	return resp, nil
}

func (p *peerServer) ReadIndex(ctx context.Context, _ *storev1.ReadIndexRequest) (*storev1.ReadIndexResponse, error) {
	if !p.n.isLeader() {
		return nil, wire.ToStatus(kv.ErrNoLeader)
	}
	// Reads of all members share the rounds of the leader.
	index, err := p.n.rounds.join(ctx, p.n.readRound)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	return &storev1.ReadIndexResponse{Index: index}, nil
}

func (p *peerServer) KeepAlive(ctx context.Context, req *storev1.KeepAliveRequest) (*storev1.KeepAliveResponse, error) {
	ttl, err := p.n.renew(ctx, req.Id)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	return &storev1.KeepAliveResponse{GrantedTtlSeconds: ttl}, nil
}

func (p *peerServer) TimeToLive(_ context.Context, req *storev1.TimeToLiveRequest) (*storev1.TimeToLiveResponse, error) {
	granted, remaining, err := p.n.lessor.TimeToLive(req.Id)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	return &storev1.TimeToLiveResponse{GrantedTtlSeconds: granted, RemainingTtlSeconds: remaining}, nil
}
