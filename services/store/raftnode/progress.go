package raftnode

import (
	"io"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	"k8s.io/utils/clock"
)

const (
	// keepIdle is for how long entries are kept for a follower that makes no progress.
	keepIdle = time.Minute
	// keepOpened is for how long entries are kept for a snapshot that was opened and is not being sent yet.
	keepOpened = 10 * time.Second
	// minKept is the least size to which the log may grow for the sake of a follower.
	minKept = 512 << 20
)

// progress is how far the leader has brought each of its followers. The library does not tell, so it is read off the calls
// that it makes. It serves two ends: the lag of each member, and that old entries are not deleted while a follower that
// makes progress still needs them: otherwise, under load, each snapshot that it is sent would be followed by the next.
type progress struct {
	clock clock.PassiveClock
	// entryBytes is the mean size of an entry, maxKept bounds the bytes that are kept for a follower.
	entryBytes func() int64
	maxKept    int64

	mu        sync.Mutex
	followers map[string]*follower
	// opened is the last entry of the snapshot that was opened last, openedAt when: it is about to be sent.
	opened   uint64
	openedAt time.Time
}

type follower struct {
	// sent is the last entry that the follower was sent and took, or is about to; keep is the one from which on it needs the
	// log, 0 while that is not known.
	sent, keep uint64
	// moved is when there was progress last.
	moved time.Time
	// installing counts the snapshots on the way, installs those that arrived.
	installing, installs int
}

func newProgress(c clock.PassiveClock, entryBytes func() int64, maxKept int64) *progress {
	return &progress{clock: c, entryBytes: entryBytes, maxKept: maxKept, followers: map[string]*follower{}}
}

// reset forgets everything: this member does not lead any more.
func (p *progress) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.followers)
	p.opened = 0
}

func (p *progress) get(id raft.ServerID) *follower {
	f := p.followers[string(id)]
	if f == nil {
		f = &follower{}
		p.followers[string(id)] = f
	}
	return f
}

// took notes that a follower has the entries up to index.
func (p *progress) took(id raft.ServerID, index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.get(id)
	if f.sent == index {
		return
	}
	f.sent, f.keep, f.moved = index, index, p.clock.Now()
}

// open notes that a snapshot that ends with index was opened.
func (p *progress) open(index uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.opened, p.openedAt = index, p.clock.Now()
}

// install notes that a snapshot that ends with index is sent to a follower; the function that it returns, that this ended.
func (p *progress) install(id raft.ServerID, index uint64) (done func(ok bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.get(id)
	f.installing++
	f.keep = index
	return func(ok bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f.installing--
		if ok {
			f.sent, f.moved = max(f.sent, index), p.clock.Now()
			f.installs++
		}
	}
}

// keepFrom is the first entry that a follower still needs. last is the end of the log.
func (p *progress) keepFrom(last uint64) (index uint64, any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opened > 0 {
		if index, any = p.opened, true; p.clock.Since(p.openedAt) > keepOpened {
			p.opened, index, any = 0, 0, false
		}
	}
	most := uint64(p.maxKept / max(p.entryBytes(), 1))
	for _, f := range p.followers {
		active := f.installing > 0 || !f.moved.IsZero() && p.clock.Since(f.moved) <= keepIdle
		if f.keep > 0 && active && f.keep+most >= last && (!any || f.keep < index) {
			index, any = f.keep, true
		}
	}
	return index, any
}

// lag is how many entries of the log, which ends with last, a follower was not sent yet; false when nothing is known of it.
func (p *progress) lag(id string, last uint64) (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.followers[id]
	if f == nil || f.sent == 0 {
		return 0, false
	}
	return last - min(f.sent, last), true
}

// transport is the library's, watched.
type transport struct {
	*raft.NetworkTransport
	progress *progress
	contacts *contacts
}

// AppendEntries implements raft.Transport.
func (t *transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	sent := time.Now()
	err := t.NetworkTransport.AppendEntries(id, target, args, resp)
	if err == nil && resp.Success {
		t.contacts.answered(id, args.Term, sent)
	}
	if err == nil && resp.Success && args.PrevLogEntry > 0 { // not a heartbeat
		t.progress.took(id, args.PrevLogEntry+uint64(len(args.Entries)))
	}
	return err
}

// AppendEntriesPipeline implements raft.Transport.
func (t *transport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return &pipeline{AppendPipeline: observed(p, id, t.contacts), id: id, progress: t.progress}, nil
}

// InstallSnapshot implements raft.Transport.
func (t *transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, args *raft.InstallSnapshotRequest, resp *raft.InstallSnapshotResponse, data io.Reader) error {
	done := t.progress.install(id, args.LastLogIndex)
	err := t.NetworkTransport.InstallSnapshot(id, target, args, resp, data)
	done(err == nil && resp.Success)
	return err
}

// pipeline is used once a follower takes what it is sent. Few calls are under way at a time, so what was sent is nearly
// what was taken.
type pipeline struct {
	raft.AppendPipeline
	id       raft.ServerID
	progress *progress
}

// AppendEntries implements raft.AppendPipeline.
func (p *pipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	f, err := p.AppendPipeline.AppendEntries(args, resp)
	if err == nil && args.PrevLogEntry > 0 {
		p.progress.took(p.id, args.PrevLogEntry+uint64(len(args.Entries)))
	}
	return f, err
}
