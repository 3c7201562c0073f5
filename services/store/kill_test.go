package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

// childDir makes this test binary a store process on the data folder that it names.
const childDir = "ORRERY_STORE_TEST_DIR"

// runChild serves until the process is killed; it says its address on standard output.
func runChild() {
	s, err := store.New(store.Config{DataDir: os.Getenv(childDir), ListenAddr: os.Getenv("ORRERY_STORE_TEST_LISTEN"), Logger: discard,
		SnapshotEntries: 64, TrailingEntries: 16})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		<-s.Ready()
		fmt.Println("ready")
	}()
	if err := s.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child starts a store process and waits until it is ready.
func child(t *testing.T, dir, addr string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, "ORRERY_STORE_TEST_LISTEN="+addr)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "ready" {
		t.Fatalf("the store process did not start: %q, %v", line, err)
	}
	return cmd
}

// TestKill kills a store process again and again under writers, each time after a random number of writes. What was
// acknowledged is there after each restart, and a watch that lives through all of it sees each write once.
func TestKill(t *testing.T) {
	dir, addr := t.TempDir(), freeAddr(t)
	cmd := child(t, dir, addr)
	c, err := client.New(client.Config{Endpoints: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/k/"), End: kv.PrefixEnd([]byte("/k/"))})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	const writers, kills = 8, 4
	var acked sync.Map
	var total atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wrote := make(chan struct{}, 1)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("/k/%d-%d", i, n)
				_, err := c.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key), Value: make([]byte, 1000)}}}})
				switch {
				case err == nil:
					acked.Store(key, true)
					total.Add(1)
					select {
					case wrote <- struct{}{}:
					default:
					}
				case errors.Is(err, kv.ErrOutcomeUnknown), ctx.Err() != nil:
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	for range kills {
		for until := total.Load() + 100 + rand.Int64N(200); total.Load() < until; {
			<-wrote
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		cmd = child(t, dir, addr)
	}
	stop()
	wg.Wait()

	resp, err := c.Range(t.Context(), kv.RangeRequest{Key: []byte("/k/"), End: kv.PrefixEnd([]byte("/k/")), KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, x := range resp.KVs {
		have[string(x.Key)] = true
		if x.Version != 1 {
			t.Errorf("%s was written %d times", x.Key, x.Version)
		}
	}
	acked.Range(func(k, _ any) bool {
		if !have[k.(string)] {
			t.Errorf("acknowledged write %s is lost", k)
		}
		return true
	})
	seen := map[string]bool{}
	for len(seen) < len(have) {
		r, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Events {
			if seen[string(e.KV.Key)] {
				t.Fatalf("the watch saw %s twice", e.KV.Key)
			}
			seen[string(e.KV.Key)] = true
		}
	}
	t.Logf("%d acknowledged writes over %d kills, %d keys", total.Load(), kills, len(have))
}
