package raftnode

import (
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"
)

// shutdownLook is how often a member that is ending looks whether something holds it up.
const shutdownLook = 500 * time.Millisecond

// Close ends everything and waits for it. StepDown before it spares the others an election. What waits for a disk or a
// state machine that does not answer is left behind: the error says so, and the process should end.
func (n *Node) Close() error {
	var err error
	n.close.Do(func() {
		n.fsm.hub.Close()
		n.stop()
		n.changed.wake()
		n.peers.Stop()
		ended := make(chan error, 1)
		go func() { ended <- n.raft.Shutdown().Error() }()
		for waiting := true; waiting; {
			if disk, machine := n.stall(); max(disk, machine) > 0 {
				err = n.abandon(max(disk, machine))
				return
			}
			select {
			case err = <-ended:
				waiting = false
				close(n.raftEnded)
			case <-time.After(shutdownLook):
			}
		}
		n.closeConns()
		n.rounds.mu.Lock()
		//lint:ignore SA2001 no round begins after this: who had the lock before may still have added to done
		n.rounds.mu.Unlock()
		n.done.Wait()
		err = errors.Join(err, n.disk.Close())
	})
	return err
}

// wait is the result of one of Raft's futures. The library answers some of them never when it ends with them in a queue; once
// it has ended, an answer that is not there will not come, and the goroutine that waits for it is left behind.
func wait(f raft.Future, ended <-chan struct{}) error {
	done := make(chan error, 1)
	go func() { done <- f.Error() }()
	select {
	case err := <-done:
		return err
	case <-ended:
		return raft.ErrRaftShutdown
	}
}

func (n *Node) closeConns() {
	n.connMu.Lock()
	for _, c := range n.conns {
		c.Close()
	}
	n.connMu.Unlock()
	n.transport.Close()
	n.mux.Close()
}

// abandon ends what can be ended. Above all the connections: as long as they are open the others wait for this member.
func (n *Node) abandon(took time.Duration) error {
	n.mux.setCut(true)
	n.closeConns()
	n.disk.abandon()
	return fmt.Errorf("the store member in %s could not be closed in order: its disk or its state machine has not answered for %v", n.cfg.DataDir, took.Round(time.Millisecond))
}
