package raftnode

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// TestRejoinUnderLoad: a member that begins with an empty folder catches up although the others write without a pause and
// cut their logs behind one snapshot after the other. It needs one of those at most: what follows it is kept.
func TestRejoinUnderLoad(t *testing.T) {
	ms := trio(t, func(c *Config) { c.TrailingEntries, c.CheckInterval = 1, -1 })
	for i := range 50 {
		put(t, ms[0], fmt.Sprint("/a/", i), make([]byte, 50_000))
	}
	if err := ms[0].TakeSnapshot(); err != nil {
		t.Fatal(err)
	}
	away := ms[2].cfg
	if err := ms[2].Close(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	defer load.Wait()
	defer stop()
	load.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := putErr(t, ms[0], fmt.Sprint("/b/", i%10)); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	load.Go(func() {
		for ctx.Err() == nil {
			_ = ms[0].TakeSnapshot()
		}
	})
	var err error
	if away.Listener, err = net.Listen("tcp", away.AdvertiseAddr); err != nil {
		t.Fatal(err)
	}
	away.DataDir, away.InitialMembers, away.Join = t.TempDir(), nil, true
	back, err := Open(away)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if err := back.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := ms[0].progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.followers[away.Name].installs; n > 1 {
		t.Errorf("%d snapshots were sent, want one at most", n)
	}
}

// TestKeepFrom: entries are kept from the snapshot that a follower gets, and from where it is, but not for one that makes no
// progress, nor without end.
func TestKeepFrom(t *testing.T) {
	clk := testclock.NewFakeClock(time.Unix(1000, 0))
	p := newProgress(clk, func() int64 { return 10 }, 100_000)
	want := func(step string, last, index uint64, kept bool) {
		t.Helper()
		if i, any := p.keepFrom(last); i != index || any != kept {
			t.Errorf("%s: kept from %d (%v), want %d (%v)", step, i, any, index, kept)
		}
	}
	want("nobody", 5000, 0, false)
	p.took("a", 50)
	want("following", 60, 50, true)
	clk.Step(2 * keepIdle)
	want("away", 5000, 0, false)
	p.open(80)
	want("opened", 5000, 80, true)
	clk.Step(2 * keepOpened)
	want("opened long ago", 5000, 0, false)
	done := p.install("a", 100)
	clk.Step(time.Hour) // a large one
	want("installing", 5000, 100, true)
	done(true)
	want("installed", 5000, 100, true)
	p.took("a", 3000)
	want("catching up", 5000, 3000, true)
	if lag, known := p.lag("a", 5000); !known || lag != 2000 {
		t.Errorf("the lag is %d, %v", lag, known)
	}
	p.took("b", 4000)
	want("two", 5000, 3000, true)
	want("too far", 13_001, 4000, true)
	clk.Step(2 * keepIdle)
	p.install("a", 6000)(false)
	want("failed", 9000, 0, false)
	p.took("a", 8000)
	p.reset()
	want("another leads", 9000, 0, false)
}
