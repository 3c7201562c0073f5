package store_test

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/kv"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		runChild()
		return
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// TestLeaderLoss takes the leader away, without a warning, under writers and a watch: the others go on, no acknowledged
// write is lost, and the watch sees every write once and in order.
func TestLeaderLoss(t *testing.T) {
	ms := cluster(t, 3)
	c := dial(t, ms...)
	w, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/w/"), End: kv.PrefixEnd([]byte("/w/"))})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const writers, each = 8, 40
	half := make(chan struct{})
	var wg, halves sync.WaitGroup
	halves.Add(writers)
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				if n == each/2 {
					halves.Done()
					<-half
				}
				put := kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: fmt.Appendf(nil, "/w/%d-%d", i, n)}}}}
				// One whose outcome is unknown is written again, once it is known not to be there.
				put.Compare = []kv.Compare{{Key: put.Then[0].Put.Key, Target: kv.CompareCreate, Result: kv.Equal}}
				for {
					_, err := c.Txn(t.Context(), put)
					if err == nil {
						break
					}
					if !errors.Is(err, kv.ErrOutcomeUnknown) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	halves.Wait()
	close(half)
	if err := ms[0].Node().Close(); err != nil { // the log is closed under the feet of whoever is writing
		t.Error(err)
	}
	wg.Wait()
	mustCount(t, c, "/w/", writers*each)
	seen, last := map[string]bool{}, int64(0)
	for len(seen) < writers*each {
		resp, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.Events {
			if e.KV.ModRevision < last || seen[string(e.KV.Key)] {
				t.Fatalf("event of %s at %d after %d", e.KV.Key, e.KV.ModRevision, last)
			}
			last, seen[string(e.KV.Key)] = e.KV.ModRevision, true
		}
	}
}

// TestFollowerCatchesUpBySnapshot: a member that was away for longer than the log reaches back gets a snapshot, and its
// watches go on from their revision.
func TestFollowerCatchesUpBySnapshot(t *testing.T) {
	var initial []store.Member
	for i := range 3 {
		initial = append(initial, store.Member{Name: fmt.Sprintf("m%d", i), RaftAddr: freeAddr(t)})
	}
	var ms []*member
	for _, i := range initial {
		ms = append(ms, start(t, store.Config{Name: i.Name, RaftAddr: i.RaftAddr, InitialMembers: initial, TrailingEntries: 1}))
	}
	var away *member
	for _, m := range ms {
		if m.waitReady(); !m.Node().IsLeader() {
			away = m
		}
	}
	away.stop()
	var others []*member
	for _, m := range ms {
		if m != away {
			others = append(others, m)
		}
	}
	c := dial(t, others...)
	first := mustPut(t, c, "/a/first", "")
	for i := range 50 {
		mustPut(t, c, fmt.Sprintf("/a/%d", i), "")
	}
	for _, m := range others {
		if err := m.Node().TakeSnapshot(); err != nil {
			t.Fatal(err)
		}
	}
	mustPut(t, c, "/a/last", "")
	back := start(t, away.cfg).waitReady()
	mustCount(t, back.KV(), "/a/", 52)
	w, err := back.KV().Watch(t.Context(), kv.WatchRequest{Key: []byte("/a/"), End: kv.PrefixEnd([]byte("/a/")), StartRevision: first})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := 0; n < 52; {
		resp, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += len(resp.Events)
	}
}

// TestGrowAndShrink grows a cluster of one to three by the membership service, moves the leader and takes the first
// member out.
func TestGrowAndShrink(t *testing.T) {
	one := start(t, store.Config{Name: "one"}).waitReady()
	c := dial(t, one)
	mustPut(t, c, "/a", "1")
	ms := []*member{one}
	for _, name := range []string{"two", "three"} {
		addr := freeAddr(t)
		m := start(t, store.Config{Name: name, RaftAddr: addr, Join: true})
		if _, err := c.Membership().AddLearner(t.Context(), &storev1.AddLearnerRequest{Name: name, RaftAddress: addr}); err != nil {
			t.Fatal(err)
		}
		m.waitReady() // a learner serves linearizable reads
		mustCount(t, m.KV(), "/a", 1)
		if _, err := c.Membership().PromoteMember(t.Context(), &storev1.PromoteMemberRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
		ms = append(ms, m)
	}
	mustPut(t, c, "/a", "2")
	two := dial(t, ms[1])
	// Asked of a follower, who passes it on.
	if _, err := two.Membership().MoveLeader(t.Context(), &storev1.MoveLeaderRequest{Name: "two"}); err != nil {
		t.Fatal(err)
	}
	mustPut(t, two, "/a", "3")
	if _, err := two.Membership().RemoveMember(t.Context(), &storev1.RemoveMemberRequest{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	one.stopped = true
	if err := <-one.done; err == nil {
		t.Fatal("a removed member must end with the reason")
	}
	mustPut(t, two, "/a", "4")
	resp, err := two.Membership().ListMembers(t.Context(), &storev1.ListMembersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range resp.Members {
		if m.Name == "one" || m.Role != storev1.MemberRole_MEMBER_ROLE_VOTER || m.ClientAddress == "" {
			t.Errorf("unexpected member %v", m)
		}
	}
	if len(resp.Members) != 2 {
		t.Fatalf("members %v, want two and three", resp.Members)
	}
}
