package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
)

// asMember makes this program the process of a store member.
const asMember = "ORRERY_CRASH_MEMBER"

var (
	all      = flag.Bool("crash.all", false, "try all moments instead of a sample")
	logStore = flag.String("crash.log-store", "", "kind of log: boltdb or wal, empty for both")
	seed     = flag.Uint64("crash.seed", 1, "seed of all that is random")
)

func TestMain(m *testing.M) {
	faultfs.Main()
	if os.Getenv(asMember) != "" {
		obey()
		return
	}
	os.Exit(m.Run())
}

// memberConfig is what a member is opened with.
type memberConfig struct {
	Name, Dir, LogStore string
	Listen, RaftListen  string
	Members             []store.Member
}

// order is one line to a member's process; it answers each with an answer.
type order struct {
	Open     *memberConfig `json:",omitempty"`
	Snapshot bool          `json:",omitempty"`
	Close    bool          `json:",omitempty"`
}

type answer struct {
	Error   string `json:",omitempty"`
	Address string `json:",omitempty"`
}

// obey carries out orders from standard input until its end.
func obey() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 1<<20)
	var m running
	for in.Scan() {
		var o order
		err := json.Unmarshal(in.Bytes(), &o)
		var a answer
		switch {
		case err != nil:
		case o.Open != nil:
			a.Address, err = m.open(o.Open)
		case o.Snapshot:
			err = m.service.Node().TakeSnapshot()
		case o.Close:
			err = m.close()
		}
		if err != nil {
			a.Error = err.Error()
		}
		if out.Encode(a) != nil {
			return
		}
	}
}

// running is an open member.
type running struct {
	service *store.Service
	stop    context.CancelFunc
	ended   chan error
}

// opening is for how long a member may not be ready.
const opening = 20 * time.Second

func (m *running) open(cfg *memberConfig) (string, error) {
	election := 50 * time.Millisecond // nobody to wait for
	if len(cfg.Members) > 1 {
		election = 400 * time.Millisecond
	}
	s, err := store.New(store.Config{
		Name: cfg.Name, DataDir: cfg.Dir, ListenAddr: cfg.Listen, RaftAddr: cfg.RaftListen, InitialMembers: cfg.Members,
		LogStore:        raftnode.LogStore(cfg.LogStore),
		SnapshotEntries: 1 << 20, TrailingEntries: 8, // snapshots are taken on order
		Retention: -1, HistoryBytes: -1, ElectionTimeout: election,
	})
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithCancel(context.Background())
	m.service, m.stop, m.ended = s, stop, make(chan error, 1)
	go func() {
		err := s.Run(ctx)
		m.ended <- err
		if err != nil { // nothing that a supervisor could not see
			fmt.Fprintln(os.Stderr, "the store ended:", err)
			if ctx.Err() == nil {
				select {
				case <-s.Ready():
					os.Exit(3)
				default: // the order to open is answered with it
				}
			}
		}
	}()
	select {
	case <-s.Ready():
		return s.Addr(), nil
	case err := <-m.ended:
		return "", errors.Join(errors.New("it ended before it was ready"), err)
	case <-time.After(opening):
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1) // where it hangs
		return "", fmt.Errorf("%w %v", errNotReady, opening)
	}
}

var errNotReady = errors.New("it is not ready after")

func (m *running) close() error {
	m.stop()
	return <-m.ended
}
