package raftnode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A leader whose disk does not answer is the worst member to have: the library's heartbeats do not wait for the disk, so
// they go on, and the others keep waiting for it. So each member watches itself. One that is stuck for longer than
// Config.StallLimit says that it does not serve; when it leads others it also hands the leadership over or, when the disk
// holds up even that, cuts itself off from them, so that they elect another leader. When the stall ends it comes back;
// when it lasts for endFactor times as long the leader ends. A follower, and a member that is alone, wait.
const endFactor = 3

// health is what a member thinks of itself.
type health struct {
	mu      sync.Mutex
	problem error
	changed signal
	// led says that this member led others when the present stall began; handing is set once it tried to hand that over.
	stalled, led, handing bool
	// leaderless is since when no leader is known.
	leaderless time.Time
}

// Problem is why this member is not fit to serve, nil when it is.
func (n *Node) Problem() error {
	n.health.mu.Lock()
	defer n.health.mu.Unlock()
	return n.health.problem
}

// ProblemChanged returns a channel that is closed when Problem changes. Take it before looking.
func (n *Node) ProblemChanged() <-chan struct{} { return n.health.changed.wait() }

func (n *Node) setProblem(err error) {
	h := &n.health
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.problem
	h.problem = err
	switch {
	case (before == nil) == (err == nil):
		return
	case err != nil:
		n.log.Error("this store member does not serve", "err", err)
	default:
		n.log.Info("this store member serves again")
	}
	h.changed.wake()
}

// stall is for how long the disk or the state machine has been at one thing, when that is too long, and what it is.
func (n *Node) stall() (disk, machine time.Duration) {
	disk, machine = n.disk.stalled(), n.fsm.busy.running()
	if disk < n.cfg.StallLimit {
		disk = 0
	}
	if machine < n.cfg.StallLimit {
		machine = 0
	}
	return disk, machine
}

// lookAtSelf is called now and then. Nothing in it waits for the disk or the state machine.
func (n *Node) lookAtSelf() {
	h := &n.health
	disk, machine := n.stall()
	took := max(disk, machine)
	if took == 0 {
		h.stalled, h.led, h.handing = false, false, false
		n.mux.setCut(false)
		n.setProblem(n.lookForLeader())
		return
	}
	problem := fmt.Errorf("the state machine has been at one log entry for %v", took.Round(time.Millisecond))
	if disk > 0 {
		problem = fmt.Errorf("the disk of %s has not answered a write for %v", n.cfg.DataDir, took.Round(time.Millisecond))
	}
	n.setProblem(problem)
	if !h.stalled {
		l := n.lead.Load()
		h.stalled, h.led = true, l != nil && !l.sole.Load()
	}
	switch {
	case !h.led:
	case took > endFactor*n.cfg.StallLimit:
		n.fail(fmt.Errorf("this store member ends, so that the others go on without it: %w: look at its disk and its load, then start it again", problem))
	case disk > 0 || h.handing:
		n.mux.setCut(true)
	default:
		h.handing = true
		n.done.Go(n.StepDown)
	}
}

// lookForLeader reports that no leader has been known for a while: another member may know one.
func (n *Node) lookForLeader() error {
	h := &n.health
	if addr, _ := n.raft.LeaderWithID(); addr != "" {
		h.leaderless = time.Time{}
		return nil
	}
	now := n.cfg.Clock.Now()
	if h.leaderless.IsZero() {
		h.leaderless = now
	}
	if now.Sub(h.leaderless) < leaderlessFactor*n.cfg.HeartbeatTimeout {
		return nil
	}
	return errors.New("no leader is known")
}

// leaderlessFactor is how many election time-outs a member may be without a leader before it says that it does not serve.
const leaderlessFactor = 3

// keepWatch sends progress notices and looks after this member itself, until ctx ends.
func (n *Node) keepWatch(ctx context.Context) {
	self := n.cfg.Clock.NewTicker(min(max(n.cfg.StallLimit/5, time.Millisecond), time.Second))
	defer self.Stop()
	progress := n.cfg.Clock.NewTicker(n.cfg.ProgressInterval)
	defer progress.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-progress.C():
			n.fsm.hub.Tick()
		case <-self.C():
			n.lookAtSelf()
		}
	}
}
