package raftnode

import (
	"context"
	"errors"
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
)

// TestReadDuringAShortTerm: a read that waits for a term to be ready is let go when the term ends before it is.
func TestReadDuringAShortTerm(t *testing.T) {
	n := &Node{ctx: context.Background()}
	l := &leadership{term: 2, ready: make(chan struct{}), over: make(chan struct{})}
	n.lead.Store(l)
	close(l.over)
	if _, err := n.readIndex(t.Context()); !errors.Is(err, kv.ErrNoLeader) {
		t.Fatalf("got %v, want %v", err, kv.ErrNoLeader)
	}
}
