package fault

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/cluster"
	"github.com/orrery-io/orrery/services/store/robustness/history"
	"github.com/orrery-io/orrery/services/store/robustness/traffic"
)

// Env is what a fault works on.
type Env struct {
	Cluster *cluster.Cluster
	Traffic *traffic.Round
	Record  *history.Round
	Rand    *rand.Rand
	// Note says what is being done to whom.
	Note func(format string, args ...any)
}

// Fault is one thing that can go wrong.
type Fault struct {
	Name string
	// What it is, for the report.
	What string
	// Members is how many there must be at least.
	Members int
	// Disk: it needs disks that can go wrong. Clock: it moves the machine's clock.
	Disk, Clock bool
	// Short: it is part of the short form.
	Short bool
	// Run breaks and heals. Its error means that the run itself could not do it, or that the store did not come through.
	Run func(context.Context, *Env) error
}

// Table is every fault, in the order in which a run goes through them.
func Table() []Fault {
	return []Fault{
		{Name: "kill-leader", What: "kill -9 of the leader", Members: 1, Short: true, Run: killLeader},
		{Name: "kill-follower", What: "kill -9 of a follower", Members: 2, Run: killFollower},
		{Name: "kill-all", What: "kill -9 of all members at once", Members: 1, Short: true, Run: killAll},
		{Name: "stop-all", What: "restart of all members at once by SIGTERM", Members: 2, Run: stopAll},
		{Name: "rolling-restart", What: "restart of one member after the other by SIGTERM", Members: 1, Run: rollingRestart},
		{Name: "pause-leader", What: "the leader is stopped for longer than an election and goes on", Members: 1, Short: true, Run: pauseLeader},
		{Name: "pause-follower", What: "a follower is stopped and goes on", Members: 2, Run: pauseFollower},
		{Name: "pause-all", What: "all members are stopped and go on", Members: 2, Run: pauseAll},
		{Name: "partition-leader", What: "the leader and the other members do not reach each other; clients reach all", Members: 2, Short: true, Run: partitionLeader},
		{Name: "partition-minority", What: "a minority of followers is cut off; clients reach all", Members: 3, Run: partitionMinority},
		{Name: "partition-partial", What: "the leader and one follower do not reach each other, the others reach both", Members: 3, Run: partitionPartial},
		{Name: "one-way-from-leader", What: "what the leader sends to other members is lost", Members: 2, Short: true, Run: oneWayFromLeader},
		{Name: "one-way-to-leader", What: "what other members send to the leader is lost", Members: 2, Run: oneWayToLeader},
		{Name: "isolate-leader", What: "nobody reaches the leader, clients neither", Members: 3, Run: isolateLeader},
		{Name: "isolate-follower", What: "nobody reaches a follower, clients neither", Members: 3, Run: isolateFollower},
		{Name: "slow-fsync", What: "each sync of one disk takes a long time", Members: 1, Disk: true, Short: true, Run: slowSync},
		{Name: "failing-fsync", What: "a sync of one disk fails and what it should have written is lost", Members: 1, Disk: true, Short: true, Run: failingSync},
		{Name: "full-disk", What: "one disk is full", Members: 1, Disk: true, Short: true, Run: fullDisk},
		{Name: "stuck-disk", What: "one disk does not answer for a while", Members: 1, Disk: true, Run: stuckDisk},
		{Name: "dead-disk", What: "the leader's disk does not answer until another member leads", Members: 3, Disk: true, Run: deadDisk},
		{Name: "power-loss", What: "a member loses power, and what was not synced with it", Members: 1, Disk: true, Short: true, Run: powerLoss},
		{Name: "power-loss-all", What: "all members lose power at once", Members: 1, Disk: true, Run: powerLossAll},
		{Name: "clock-step", What: "the clock of all members jumps, and back", Members: 1, Clock: true, Run: clockStep},
		{Name: "replace-member", What: "a dead member is removed, wiped, added as a learner and promoted", Members: 3, Run: replaceMember},
		{Name: "replace-leader", What: "the same with the leader", Members: 3, Run: replaceLeader},
		{Name: "snapshot-install", What: "a follower that was down comes back when the log no longer reaches back", Members: 2, Short: true, Run: snapshotInstall},
		{Name: "snapshot-install-kill", What: "the same, and it is killed while it catches up", Members: 2, Run: snapshotInstallKill},
		{Name: "compact", What: "history is compacted right behind the watches", Members: 1, Short: true, Run: compact},
		{Name: "move-leader", What: "leadership is handed on, several times", Members: 2, Short: true, Run: moveLeader},
		{Name: "defragment", What: "the log files are rewritten", Members: 1, Run: defragment},
		{Name: "save-snapshot", What: "backups are streamed from every member", Members: 1, Run: saveSnapshot},
	}
}

// hold lets the traffic meet a fault for a while.
func hold(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// between is a random duration.
func (e *Env) between(a, b time.Duration) time.Duration {
	return a + time.Duration(e.Rand.Int64N(int64(b-a)))
}

func (e *Env) leader(ctx context.Context) (*cluster.Member, error) { return e.Cluster.Leader(ctx) }

// follower is a random member that does not lead.
func (e *Env) follower(ctx context.Context) (*cluster.Member, error) {
	l, err := e.leader(ctx)
	if err != nil {
		return nil, err
	}
	others := e.Cluster.Others(l)
	if len(others) == 0 {
		return nil, fmt.Errorf("there is no follower")
	}
	return others[e.Rand.IntN(len(others))], nil
}

// anyone is the leader as often as not, else a follower: what happens to the leader is the more interesting half.
func (e *Env) anyone(ctx context.Context) (*cluster.Member, error) {
	if len(e.Cluster.Members) == 1 || e.Rand.IntN(2) == 0 {
		return e.leader(ctx)
	}
	return e.follower(ctx)
}
