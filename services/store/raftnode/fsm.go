package raftnode

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/lease"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/watch"
	"github.com/orrery-io/orrery/services/store/wire"
)

// outcome is what a command came to.
type outcome struct {
	txn *kv.TxnResponse
	err error
	// index and batch are the log entry and the number of commands in it; timing is nil when another member led.
	index  uint64
	batch  int
	timing *timing
}

// applied is what an entry came to: one outcome for each of its commands.
type applied struct {
	outcomes     []outcome
	began, ended time.Time
}

// fsm applies log entries to the state and shows the result to readers and watchers.
type fsm struct {
	hub    *watch.Hub
	lessor *lease.Lessor
	log    *slog.Logger

	// applied is the index of the last entry of ours that the hub shows; progress wakes who waits for it. Raft's own
	// count also has entries that never reach a state machine.
	applied  atomic.Uint64
	progress signal
	// bytes and entries count what was applied since the last snapshot.
	bytes, entries atomic.Int64

	// now is for figures alone: the state does not depend on it. commands and decoder are Apply's, used again and again.
	now      func() time.Time
	commands [][]byte
	decoder  wire.TxnDecoder

	// busy is the entry that is being applied. onCheck is told of a check with the state at its entry, onAlarm that there are
	// alarms.
	busy    stopwatch
	onCheck func(index uint64, s *mvcc.Snapshot)
	onAlarm func(corrupt []string)

	mu    sync.Mutex // the writer's: state, and what must agree with it
	state *mvcc.State
}

func newFSM(lessor *lease.Lessor, now func() time.Time, log *slog.Logger) *fsm {
	s := mvcc.New()
	return &fsm{
		state: s, hub: watch.NewHub(s.View()), lessor: lessor, now: now, log: log, busy: stopwatch{now: now},
		onCheck: func(uint64, *mvcc.Snapshot) {}, onAlarm: func([]string) {},
	}
}

// Apply implements raft.FSM; it returns an *applied.
func (f *fsm) Apply(l *raft.Log) any {
	out := &applied{began: f.now()}
	f.busy.begin(out.began)
	defer f.busy.end()
	f.bytes.Add(int64(len(l.Data)))
	f.entries.Add(1)
	commands, quota, err := splitEntry(f.commands[:0], l.Data)
	if err != nil {
		unreadable(l.Index, err)
	}
	out.outcomes = make([]outcome, len(commands))
	f.mu.Lock()
	for i, c := range commands {
		o := &out.outcomes[i]
		*o = f.command(l.Index, c, quota)
		o.index, o.batch = l.Index, len(commands)
	}
	f.hub.Commit(f.state.View())
	f.mu.Unlock()
	clear(commands) // they keep the entry in memory
	f.commands = commands
	f.applied.Store(l.Index)
	f.progress.wake()
	out.ended = f.now()
	return out
}

// unreadable ends the process: every member sees the same bytes, and going on would mean that they hold different states.
func unreadable(index uint64, err error) {
	panic(fmt.Sprintf("log entry %d cannot be read, it was written by a newer version or is damaged: %v", index, err))
}

// splitEntry reads a RaftEntry and appends its commands, still encoded, to to.
func splitEntry(to [][]byte, data []byte) (commands [][]byte, quota int64, err error) {
	for len(data) > 0 {
		num, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, 0, protowire.ParseError(n)
		}
		data = data[n:]
		switch {
		case num == fieldCommands && typ == protowire.BytesType:
			c, n := protowire.ConsumeBytes(data)
			if n < 0 {
				return nil, 0, protowire.ParseError(n)
			}
			to, data = append(to, c), data[n:]
			continue
		case num == fieldQuotaBytes && typ == protowire.VarintType:
			v, n := protowire.ConsumeVarint(data)
			if n < 0 {
				return nil, 0, protowire.ParseError(n)
			}
			quota = int64(v)
		}
		if n = protowire.ConsumeFieldValue(num, typ, data); n < 0 {
			return nil, 0, protowire.ParseError(n)
		}
		data = data[n:]
	}
	return to, quota, nil
}

// command applies one encoded Command. Almost all are transactions: those are read without a message in between.
func (f *fsm) command(index uint64, data []byte, quota int64) (o outcome) {
	if num, typ, n := protowire.ConsumeTag(data); n > 0 && num == fieldTxn && typ == protowire.BytesType {
		if body, m := protowire.ConsumeBytes(data[n:]); m > 0 && n+m == len(data) {
			req, err := f.decoder.Decode(body)
			if err != nil {
				unreadable(index, err)
			}
			o.txn, o.err = f.state.Txn(req, quota)
			return o
		}
	}
	c := &storev1.Command{}
	if err := proto.Unmarshal(data, c); err != nil {
		unreadable(index, err)
	}
	return f.apply(index, c, quota)
}

func (f *fsm) apply(index uint64, c *storev1.Command, quota int64) (o outcome) {
	switch c := c.Command.(type) {
	case *storev1.Command_Txn:
		o.txn, o.err = f.state.Txn(wire.ToTxn(c.Txn), quota)
	case *storev1.Command_Compact:
		o.err = f.state.Compact(c.Compact.Revision)
	case *storev1.Command_LeaseGrant:
		if o.err = f.state.GrantLease(c.LeaseGrant.Id, c.LeaseGrant.TtlSeconds); o.err == nil {
			f.lessor.Granted(c.LeaseGrant.Id, c.LeaseGrant.TtlSeconds)
		}
	case *storev1.Command_LeaseRevoke:
		o.err = f.state.RevokeLease(c.LeaseRevoke.Id)
		f.lessor.Revoked(c.LeaseRevoke.Id)
	case *storev1.Command_Alarm:
		f.alarm(c.Alarm)
	case *storev1.Command_Check:
		s := f.state.Snapshot()
		s.AppliedIndex = index
		f.onCheck(index, s)
	case *storev1.Command_Member:
		f.state.SetMember(c.Member.Name, c.Member.ClientAddress)
	default:
		panic(fmt.Sprintf("the log has a command that this version does not know (%T): update this member", c))
	}
	return o
}

func (f *fsm) alarm(c *storev1.AlarmCommand) {
	switch c.Alarm {
	case storev1.AlarmType_ALARM_TYPE_NO_SPACE:
		f.state.SetNoSpace(c.Raised)
	case storev1.AlarmType_ALARM_TYPE_CORRUPT:
		f.state.SetCorrupt(c.Member, c.Raised)
		f.onAlarm(f.state.Corrupt())
	}
}

// promote starts the lessor with the leases as they are: no grant or revocation can come between.
func (f *fsm) promote() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lessor.Promote(f.state.LeaseTTLs())
}

func (f *fsm) members() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.Members()
}

// snapshot captures the state.
func (f *fsm) snapshot() *mvcc.Snapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.state.Snapshot()
	s.AppliedIndex = f.applied.Load()
	return s
}

// Snapshot implements raft.FSM. It takes about constant time; the writing happens beside further entries.
func (f *fsm) Snapshot() (raft.FSMSnapshot, error) {
	f.bytes.Store(0)
	f.entries.Store(0)
	return persister{f.snapshot()}, nil
}

// Restore implements raft.FSM: at start, and when the leader sends a snapshot because the log no longer reaches back.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	s, index, err := mvcc.Restore(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	expire := s.Incarnation() != f.state.Incarnation()
	f.state = s
	f.hub.Reset(s.View(), expire)
	f.onAlarm(s.Corrupt())
	f.mu.Unlock()
	if index > f.applied.Load() { // a restored backup carries no index of this log
		f.applied.Store(index)
	}
	f.progress.wake()
	f.log.Info("restored a snapshot", "revision", s.Stats().Revision, "keys", s.Stats().Keys, "index", index)
	return nil
}

// persister writes a snapshot where Raft keeps it.
type persister struct{ s *mvcc.Snapshot }

func (p persister) Persist(sink raft.SnapshotSink) error {
	if err := p.s.Write(sink); err != nil {
		sink.Cancel()
		return err
	}
	return sink.Close()
}

func (p persister) Release() {}

// signal wakes everyone who waits for the next change of something.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

// wait returns a channel that the next wake closes. Take it before looking at the thing.
func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
