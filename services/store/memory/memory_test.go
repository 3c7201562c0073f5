package memory_test

import (
	"context"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/kvtest"
	"github.com/orrery-io/orrery/services/store/memory"
)

func TestConformance(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.KV {
		m := memory.New(memory.Options{})
		t.Cleanup(m.Close)
		return m
	})
}

func TestLeaseExpires(t *testing.T) {
	ctx := context.Background()
	c := testclock.NewFakeClock(time.Unix(0, 0))
	m := memory.New(memory.Options{Clock: c})
	defer m.Close()
	l, err := m.LeaseGrant(ctx, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("a"), Lease: l.ID}}}}); err != nil {
		t.Fatal(err)
	}
	w, err := m.Watch(ctx, kv.WatchRequest{Key: []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	c.Step(9 * time.Second)
	if _, err := m.LeaseKeepAlive(ctx, l.ID); err != nil {
		t.Fatal(err)
	}
	c.Step(9 * time.Second)
	if r, _ := m.Range(ctx, kv.RangeRequest{Key: []byte("a")}); r.Count != 1 {
		t.Fatal("the key went before its lease ended")
	}
	c.Step(time.Second)
	resp, err := w.Next(ctx)
	if err != nil || resp.Events[0].Type != kv.EventDelete {
		t.Fatalf("got %v, %v; want the deletion of the leased key", resp, err)
	}
}

func TestQuota(t *testing.T) {
	ctx := context.Background()
	m := memory.New(memory.Options{QuotaBytes: 10_000})
	defer m.Close()
	put := func() error {
		_, err := m.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("a"), Value: make([]byte, 1000)}}}})
		return err
	}
	var err error
	for err == nil {
		err = put()
	}
	if err != kv.ErrNoSpace {
		t.Fatalf("got %v, want %v", err, kv.ErrNoSpace)
	}
	if r, err := m.Range(ctx, kv.RangeRequest{Key: []byte("a")}); err != nil || r.Count != 1 {
		t.Fatalf("reads must go on: %v", err)
	}
	if _, err := m.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: []byte("a")}}}}); err != nil {
		t.Fatalf("deletions must go on: %v", err)
	}
}
