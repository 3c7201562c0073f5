package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Clock is the time that all of a run's records share. It is monotonic: a step of the machine's clock does not move it.
type Clock struct{ begin time.Time }

// NewClock starts at zero.
func NewClock() Clock { return Clock{begin: time.Now()} }

// Now is the time since the clock was made, in nanoseconds.
func (c Clock) Now() int64 { return int64(time.Since(c.begin)) }

// Lease is what a client knows of a lease that it holds.
type Lease struct {
	ID  int64 `json:"id"`
	TTL int64 `json:"ttl"`
	// Key is attached to it.
	Key string `json:"key"`
	// Renewed are the moments at which the acknowledged grant and keep-alives were asked for: the store cannot have counted
	// from an earlier one.
	Renewed []int64 `json:"renewed"`
	// Revoked is when its client ended it itself, or tried to, 0 when it never did.
	Revoked int64 `json:"revoked,omitempty"`
	// Lost is when the store first said that it has no such lease, 0 when it never did.
	Lost int64 `json:"lost,omitempty"`
	// Abandoned is when the client stopped to renew it, 0 when it never did.
	Abandoned int64 `json:"abandoned,omitempty"`
}

// Round is everything recorded in one round.
type Round struct {
	Number int    `json:"number"`
	Fault  string `json:"fault"`
	// Base is the store's revision when it began, State what there was then.
	Base int64 `json:"base"`
	// Compacts says that history was compacted while it ran: a watch may have been cut off by that.
	Compacts bool          `json:"compacts,omitempty"`
	State    map[string]KV `json:"-"`
	// Late are writes of earlier rounds whose outcome is unknown: a request that lay in a dead connection, or waited for a
	// leader, may be carried out long after its client gave it up.
	Late []*Op `json:"-"`
	// Final is the revision when all had come to rest.
	Final   int64    `json:"final"`
	Ops     []*Op    `json:"ops"`
	Watches []*Watch `json:"watches"`
	Leases  []*Lease `json:"leases"`
}

// Recorder collects a round. It is safe for concurrent use; what is in it may be read when the traffic has ended.
type Recorder struct {
	mu    sync.Mutex
	round *Round
}

// NewRecorder fills round.
func NewRecorder(round *Round) *Recorder { return &Recorder{round: round} }

// Op adds a call that has ended.
func (r *Recorder) Op(o *Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.Ops = append(r.round.Ops, o)
}

// Watch adds a watch; its goroutine goes on filling it.
func (r *Recorder) Watch(w *Watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.Watches = append(r.round.Watches, w)
}

// Lease adds a lease; its goroutine goes on filling it.
func (r *Recorder) Lease(l *Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.round.Leases = append(r.round.Leases, l)
}

// Save writes the round to a folder, one record a line.
func (r *Round) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	head := *r
	head.Ops, head.Watches, head.Leases = nil, nil, nil
	base := make([]KV, 0, len(r.State))
	for _, v := range r.State {
		base = append(base, v)
	}
	return firstError(
		saveLines(filepath.Join(dir, "round.json"), []Round{head}),
		saveLines(filepath.Join(dir, "base.jsonl"), base),
		saveLines(filepath.Join(dir, "operations.jsonl"), r.Ops),
		saveLines(filepath.Join(dir, "watches.jsonl"), r.Watches),
		saveLines(filepath.Join(dir, "leases.jsonl"), r.Leases),
	)
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func saveLines[T any](file string, items []T) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	for _, item := range items {
		if err := enc.Encode(item); err != nil {
			_ = f.Close()
			return fmt.Errorf("writing %s: %w", file, err)
		}
	}
	return f.Close()
}
