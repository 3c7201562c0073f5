package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"k8s.io/utils/clock"
)

// lockFile is locked by the process that uses a data folder.
const lockFile = "lock"

// disk is the log and the votes of a member, between Raft and a log store. It adds what Raft leaves to others: checksums,
// a cache, a vote that is written whole, a watch on how long a write takes. And it ends the member at the first write that
// fails: a later flush may succeed without having written what the failed one should have (the operating system drops the
// pages), so what this member would acknowledge from then on could be on no disk.
type disk struct {
	dir   string
	kind  LogStore
	lock  *os.File
	cache logCache
	// writing and cutting are the writes to the log and to the votes, and the deletion of old entries, which go on side by side.
	writing, cutting stopwatch
	// appended and stored count the bytes of the entries stored and the entries.
	appended, stored atomic.Int64
	// keepFrom is asked, when old entries are deleted, for the first one that is still needed, in a log
	// that ends with last; nil keeps none.
	keepFrom func(last uint64) (index uint64, any bool)
	// observe is told of each write to the log.
	observe atomic.Pointer[func(Append)]
	// lastWrite is when the newest write to the log ended, in nanoseconds.
	lastWrite atomic.Int64
	// onFailure is told once why the disk cannot be used any more.
	onFailure func(error)

	failure   atomic.Pointer[error]
	running   atomic.Bool // in use by Raft, which ends at an error of a read
	closing   chan struct{}
	closeOnce sync.Once

	mu    sync.RWMutex // held for writing while the file is replaced, and at the end
	store logStore

	voteMu sync.Mutex
	vote   vote
}

// lockFolder takes a data folder for this process, and makes it when there is none.
func lockFolder(dir string) (*os.File, error) {
	if err := makeFolder(dir); err != nil {
		return nil, fmt.Errorf("the store's data folder cannot be made: %w: check the path and its permissions", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the store's data folder is not writable: %w: check its owner and permissions", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, inUse(dir)
	}
	return f, nil
}

// openDisk opens the log in dir, or makes one. asked is the kind that is wanted, empty for that of the folder; old says
// that the folder is known to have a log.
func openDisk(dir string, asked LogStore, old bool, c clock.PassiveClock, logger hclog.Logger) (_ *disk, err error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	kind, err := logKind(dir)
	switch {
	case err != nil:
		return nil, err
	case kind == "" && asked == "":
		kind = DefaultLogStore
	case kind == "":
		kind = asked
	case asked != "" && asked != kind:
		return nil, fmt.Errorf("the data folder %s has a log of kind %s, not %s: start this member with --log-store %s; to change the kind, take the member out "+
			"of the cluster and let it join again with an empty folder", dir, kind, asked, kind)
	}
	d := &disk{dir: dir, kind: kind, lock: lock, closing: make(chan struct{})}
	d.writing.now, d.cutting.now = c.Now, c.Now
	if d.store, err = openLogStore(dir, kind, old, logger); err != nil {
		return nil, err
	}
	if err = d.loadVote(); err != nil {
		return nil, errors.Join(err, d.store.Close())
	}
	return d, nil
}

// path is what an error names.
func (d *disk) path() string {
	if d.kind == LogWAL {
		return filepath.Join(d.dir, walDir)
	}
	return filepath.Join(d.dir, logFile)
}

// size is that of the log on disk.
func (d *disk) size() int64 { return d.store.size() }

// entryBytes is the mean size of the entries stored since the start.
func (d *disk) entryBytes() int64 { return d.appended.Load() / max(d.stored.Load(), 1) }

// stalled is for how long a write has been under way, 0 when there is none.
func (d *disk) stalled() time.Duration { return max(d.writing.running(), d.cutting.running()) }

// fail notes that the disk cannot be used any more, and says so.
func (d *disk) fail(err error) error {
	if p := d.failure.Load(); p != nil {
		return *p
	}
	select {
	case <-d.closing: // under the feet of whoever is writing
		return err
	default:
	}
	if !errors.Is(err, ErrDamaged) {
		switch {
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			err = fmt.Errorf("the disk of the store's data folder %s is full: %w: free some space, then start this member again", d.dir, err)
		default:
			err = fmt.Errorf("writing the store's log %s failed: %w: nobody knows what of it is on the disk, so this member ends: check the disk, then start the "+
				"member again", d.path(), err)
		}
	}
	if d.failure.CompareAndSwap(nil, &err) && d.onFailure != nil {
		d.onFailure(err)
	}
	return err
}

func (d *disk) failed() error {
	if p := d.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// write runs a write to the store.
func (d *disk) write(w *stopwatch, fn func() error) (time.Duration, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if err := d.failed(); err != nil {
		return 0, err
	}
	begin := w.now()
	w.begin(begin)
	err := fn()
	w.end()
	took := w.now().Sub(begin)
	if err != nil {
		err = d.fail(err)
	}
	return took, err
}

// defragment gives back space that the log does not use. Raft waits meanwhile.
func (d *disk) defragment() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failed(); err != nil {
		return err
	}
	if err := d.store.defragment(); err != nil {
		return d.fail(err)
	}
	return nil
}

// Close gives the folder back. What is under way is waited for.
func (d *disk) Close() error {
	d.abandon()
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.store.Close(), d.lock.Close())
}

// abandon lets everybody go who waits for a disk that does not answer.
func (d *disk) abandon() { d.closeOnce.Do(func() { close(d.closing) }) }

// IsMonotonic implements raft.MonotonicLogStore.
func (d *disk) IsMonotonic() bool { return d.store.IsMonotonic() }

// FirstIndex implements raft.LogStore.
func (d *disk) FirstIndex() (uint64, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.store.FirstIndex()
}

// LastIndex implements raft.LogStore.
func (d *disk) LastIndex() (uint64, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.store.LastIndex()
}

// GetLog implements raft.LogStore.
func (d *disk) GetLog(index uint64, l *raft.Log) error {
	if d.cache.get(index, l) {
		return nil
	}
	err := d.read(index, l)
	if err == nil || errors.Is(err, raft.ErrLogNotFound) {
		return err
	}
	select {
	case <-d.closing:
		return err
	default:
	}
	err = damaged(d.path(), "%v", err)
	if d.running.Load() {
		// Raft panics when it cannot read what it has stored. The member ends in order instead.
		_ = d.fail(err)
		<-d.closing
		runtime.Goexit()
	}
	return err
}

// read reads an entry from the store and checks it.
func (d *disk) read(index uint64, l *raft.Log) (err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("log entry %d cannot be decoded: %v", index, p)
		}
	}()
	*l = raft.Log{}
	if err := d.store.GetLog(index, l); err != nil {
		return err
	}
	return checkEntry(index, l)
}

// StoreLog implements raft.LogStore.
func (d *disk) StoreLog(l *raft.Log) error { return d.StoreLogs([]*raft.Log{l}) }

// StoreLogs implements raft.LogStore.
func (d *disk) StoreLogs(logs []*raft.Log) error {
	sealed := summed(logs)
	took, err := d.write(&d.writing, func() error { return d.store.StoreLogs(sealed) })
	if err != nil {
		return err
	}
	d.cache.add(logs)
	bytes := 0
	for _, l := range logs {
		bytes += len(l.Data)
	}
	d.appended.Add(int64(bytes))
	d.stored.Add(int64(len(logs)))
	d.lastWrite.Store(time.Now().UnixNano())
	if fn := d.observe.Load(); fn != nil {
		(*fn)(Append{Entries: len(logs), Bytes: bytes, Took: took})
	}
	return nil
}

// DeleteRange implements raft.LogStore. Old entries that somebody still needs stay for the next time.
func (d *disk) DeleteRange(from, to uint64) error {
	last, err := d.LastIndex()
	if err != nil {
		return err
	}
	if d.keepFrom != nil && to < last {
		if keep, any := d.keepFrom(last); any && keep <= to {
			if keep <= from {
				return nil
			}
			to = keep - 1
		}
	}
	watch := &d.cutting
	if to >= last {
		watch = &d.writing
	}
	_, err = d.write(watch, func() error { return d.store.DeleteRange(from, to) })
	if err == nil {
		d.cache.deleted(from, to)
	}
	return err
}

// verify reads the whole log. Entries up to the newest snapshot may be missing, those behind it may not.
func (d *disk) verify(snapshot uint64) error {
	first, err := d.FirstIndex()
	if err != nil {
		return damaged(d.path(), "%v", err)
	}
	last, err := d.LastIndex()
	if err != nil {
		return damaged(d.path(), "%v", err)
	}
	if first > snapshot+1 {
		return damaged(d.path(), "it begins with entry %d, and the newest snapshot ends with entry %d", first, snapshot)
	}
	var l raft.Log
	var term uint64
	for i := max(first, 1); i <= last; i++ {
		err := d.GetLog(i, &l)
		switch {
		case errors.Is(err, raft.ErrLogNotFound) && i <= snapshot:
			continue // a restore leaves a gap
		case errors.Is(err, raft.ErrLogNotFound):
			return damaged(d.path(), "log entry %d is missing between %d and %d", i, first, last)
		case err != nil:
			return err
		case l.Term < term:
			return damaged(d.path(), "log entry %d is of term %d, the one before of term %d", i, l.Term, term)
		}
		term = l.Term
	}
	current, err := d.GetUint64([]byte(keyCurrentTerm))
	if err != nil && err.Error() != recordNotFound {
		return err
	}
	if term > current {
		return damaged(d.path(), "the member's term is %d, that of its last log entry %d", current, term)
	}
	return nil
}
