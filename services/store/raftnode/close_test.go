package raftnode

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

type unanswered struct{}

func (unanswered) Error() error { select {} }

// TestUnansweredFuture: what Raft leaves unanswered when it ends does not hold up the end of the member.
func TestUnansweredFuture(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	if err := wait(unanswered{}, ended); !errors.Is(err, raft.ErrRaftShutdown) {
		t.Error(err)
	}
}
