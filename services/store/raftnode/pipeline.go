package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

// observed looks at the answers of a pipeline to a follower: successes are contacts, and the first other one ends the
// pipeline. The library stops to read answers then, but goes on to send: when two calls are under way it blocks in the
// next one for good, and with it the replication to that follower, and later the end of the process.
func observed(p raft.AppendPipeline, id raft.ServerID, c *contacts) raft.AppendPipeline {
	e := &observedPipeline{AppendPipeline: p, id: id, contacts: c, out: make(chan raft.AppendFuture), closed: make(chan struct{})}
	go e.run()
	return e
}

type observedPipeline struct {
	raft.AppendPipeline
	id       raft.ServerID
	contacts *contacts
	out      chan raft.AppendFuture
	once     sync.Once
	closed   chan struct{}
}

// run passes answers on. It ends with the pipeline.
func (e *observedPipeline) run() {
	for {
		select {
		case f := <-e.AppendPipeline.Consumer():
			refused := !f.Response().Success // the answer of a call that failed is empty
			if !refused {
				e.contacts.answered(e.id, f.Request().Term, f.Start())
			}
			select {
			case e.out <- f:
			case <-e.closed:
				return
			}
			if refused {
				_ = e.Close()
				return
			}
		case <-e.closed:
			return
		}
	}
}

// Consumer implements raft.AppendPipeline.
func (e *observedPipeline) Consumer() <-chan raft.AppendFuture { return e.out }

// Close implements raft.AppendPipeline. It may be called while another call is under way, and more than once.
func (e *observedPipeline) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.AppendPipeline.Close()
}
