package raftnode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"

	"github.com/orrery-io/orrery/services/store/lease"
)

// Node is one member of the store.
type Node struct {
	cfg  Config
	log  *slog.Logger
	disk *disk
	// identity says whose folder it is, and which peers are of the same cluster.
	identity *identity
	mux      *mux
	raft     *raft.Raft
	// transport is Raft's; progress is read off it.
	transport *transport
	progress  *progress
	fsm       *fsm
	lessor    *lease.Lessor
	proposer  *proposer
	rounds    *rounds
	peers     *grpc.Server

	// lead is the present term when this member leads; changed wakes who waits for a leader.
	lead    atomic.Pointer[leadership]
	changed signal
	tail    atomic.Pointer[tail]
	// contacts confirm that this member leads.
	contacts contacts
	// following is the leader when that is another member.
	following following
	failed    chan error
	// raftEnded is closed when Raft has ended and answers no more.
	raftEnded chan struct{}
	health    health
	checks    checks
	// elections counts the leaders that this member has seen come.
	elections atomic.Int64
	// changing is held while the voters are changed.
	changing sync.Mutex

	connMu sync.Mutex
	conns  map[string]*grpc.ClientConn

	ctx   context.Context // ends with Close
	stop  context.CancelFunc
	done  sync.WaitGroup
	close sync.Once
	// batches is told of each log entry.
	batches atomic.Pointer[func(Batch)]
}

// Open starts a member from its data folder, or a new one when the folder is empty. It takes over cfg.Listener.
func Open(cfg Config) (_ *Node, err error) {
	defer func() {
		if err != nil && cfg.Listener != nil {
			cfg.Listener.Close()
		}
	}()
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	st, err := openStorage(&cfg)
	if err != nil {
		return nil, err
	}
	d := st.disk
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	ctx, stop := context.WithCancel(context.Background())
	n := &Node{
		cfg: cfg, log: cfg.Logger, disk: d, identity: st.identity, lessor: lease.New(cfg.Clock), failed: make(chan error, 1), raftEnded: make(chan struct{}),
		conns: map[string]*grpc.ClientConn{}, ctx: ctx, stop: stop,
	}
	n.fsm = newFSM(n.lessor, cfg.Clock.Now, cfg.Logger)
	n.fsm.onCheck, n.fsm.onAlarm = n.noteCheck, n.heedAlarms
	n.checks.byIndex = map[uint64]*checked{}
	if n.checks.after, err = d.LastIndex(); err != nil {
		stop()
		return nil, err
	}
	n.rounds = &rounds{ctx: ctx, done: &n.done}
	n.mux = newMux(&n.cfg, st.identity)
	n.progress = newProgress(cfg.Clock, d.entryBytes, max(4*cfg.SnapshotBytes, minKept))
	n.transport = &transport{progress: n.progress, contacts: &n.contacts, NetworkTransport: raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: streamLayer{n.mux.raft, n.mux}, MaxPool: 4, Timeout: 10 * time.Second, Logger: newRaftLogger(cfg.Logger), MsgpackUseNewTimeFormat: true,
	})}
	notify := make(chan bool, 16)
	if err := n.startRaft(st, notify); err != nil {
		stop()
		n.transport.Close()
		n.mux.Close()
		return nil, err
	}
	n.proposer = newProposer(n.raft, cfg.QuotaBytes, cfg.Clock.Now, ctx.Done(), n.raftEnded, func(b Batch) {
		if fn := n.batches.Load(); fn != nil {
			(*fn)(b)
		}
	}, n.disk.lastWrite.Load)
	n.peers = newPeerServer(n)
	n.done.Go(func() { n.peers.Serve(n.mux.grpc) }) //nolint:errcheck // ends with Stop
	n.done.Go(func() { n.proposer.run(ctx) })
	n.done.Go(func() { n.proposer.land() })
	n.done.Go(func() { n.observe(ctx) })
	n.done.Go(func() { n.followLeadership(ctx, notify) })
	n.done.Go(func() { n.keepHouse(ctx) })
	n.done.Go(func() { n.keepWatch(ctx) })
	n.done.Go(func() { n.announce(ctx) })
	n.done.Go(func() { n.announceMove(ctx) })
	n.done.Go(func() { n.keepLeader(ctx) })
	n.done.Go(func() { n.keepChecking(ctx) })
	n.standAlone()
	return n, nil
}

// startRaft starts the library, on a new cluster with its first configuration.
func (n *Node) startRaft(st *storage, notify chan bool) (err error) {
	cfg := &n.cfg
	rc := raft.DefaultConfig()
	rc.LocalID = raft.ServerID(cfg.Name)
	rc.HeartbeatTimeout, rc.ElectionTimeout = cfg.HeartbeatTimeout, cfg.HeartbeatTimeout
	rc.LeaderLeaseTimeout = cfg.HeartbeatTimeout // a busy disk or processor must not cost the leadership
	rc.CommitTimeout = 10 * time.Millisecond     // how long a follower may not know of the last commit
	rc.SnapshotThreshold, rc.SnapshotInterval = cfg.SnapshotEntries, 30*time.Second
	rc.TrailingLogs = defaultSnapshotEntries
	if cfg.TrailingEntries > 0 {
		rc.TrailingLogs = cfg.TrailingEntries
	}
	rc.NotifyCh = notify
	rc.Logger = newRaftLogger(cfg.Logger)
	d := st.disk
	d.onFailure = n.fail
	d.keepFrom = n.progress.keepFrom
	st.snapshots.onOpen = n.progress.open
	// The first configuration is there before the library runs: another member may have been elected by it and call already.
	switch {
	case cfg.Join, st.existing:
	case st.begun:
		// What is missing of raft.BootstrapCluster, which itself refuses to go on.
		err = d.StoreLog(&raft.Log{Index: 1, Term: bootstrapTerm, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(cfg.initial())})
	default:
		if err := n.identity.write(newCluster(cfg.InitialMembers, "")); err != nil {
			return err
		}
		err = raft.BootstrapCluster(rc, d, d, st.snapshots, n.transport, cfg.initial())
	}
	if err != nil {
		return fmt.Errorf("starting a new store cluster: %w", err)
	}
	if n.raft, err = raft.NewRaft(rc, n.fsm, d, d, st.snapshots, n.transport); err != nil {
		return fmt.Errorf("starting the store from %s: %w", cfg.DataDir, err)
	}
	d.running.Store(true)
	n.following.leader = func() string { addr, _ := n.raft.LeaderWithID(); return string(addr) }
	return nil
}

// initial is the first configuration of a new cluster.
func (c *Config) initial() (first raft.Configuration) {
	for _, p := range c.InitialMembers {
		first.Servers = append(first.Servers, raft.Server{ID: raft.ServerID(p.Name), Address: raft.ServerAddress(p.Address)})
	}
	return first
}

// observe turns what the library tells into wake-ups.
func (n *Node) observe(ctx context.Context) {
	events := make(chan raft.Observation, 16)
	o := raft.NewObserver(events, false, func(o *raft.Observation) bool {
		switch o.Data.(type) {
		case raft.LeaderObservation, raft.RaftState:
			return true
		}
		return false
	})
	n.raft.RegisterObserver(o)
	defer n.raft.DeregisterObserver(o)
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			n.following.update()
			n.changed.wake()
			l, ok := e.Data.(raft.LeaderObservation)
			if ok && l.LeaderID != "" {
				n.elections.Add(1)
			}
			switch {
			case ctx.Err() != nil:
			case n.raft.State() == raft.Shutdown, ok && l.LeaderID == "" && n.removed():
				n.fail(errors.New("this store member is not part of its cluster any more: remove its data folder before it joins again"))
			case ok && l.LeaderID != "" && string(l.LeaderID) != n.cfg.Name:
				n.log.Info("following a store leader", "leader", l.LeaderID)
			}
		}
	}
}

// removed reports whether the newest configuration is without this member. Nobody tells a member that was removed: it
// just hears nothing any more.
func (n *Node) removed() bool {
	future := n.raft.GetConfiguration()
	if future.Error() != nil || len(future.Configuration().Servers) == 0 { // empty: waits to be added
		return false
	}
	for _, s := range future.Configuration().Servers {
		if string(s.ID) == n.cfg.Name {
			return false
		}
	}
	return true
}

// WaitReady waits until the member shows everything that was acknowledged before it started.
func (n *Node) WaitReady(ctx context.Context) error {
	for {
		err := n.linearize(ctx)
		if err == nil || ctx.Err() != nil || n.ctx.Err() != nil {
			return err
		}
	}
}

// Failed receives why the member cannot go on, at most once.
func (n *Node) Failed() <-chan error { return n.failed }

func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// StepDown hands leadership over when this member has it and another one can take it.
func (n *Node) StepDown() {
	if !n.isLeader() || n.soleVoter() {
		return
	}
	if disk, _ := n.stall(); disk > 0 {
		return // it holds up the library, which would have to do it
	}
	if err := wait(n.raft.LeadershipTransfer(), n.raftEnded); err != nil {
		n.log.Info("handing leadership over failed: the others elect a leader", "err", err)
	}
}

// EndWatches ends all watches, so that their clients resume on another member.
func (n *Node) EndWatches() { n.fsm.hub.Close() }
