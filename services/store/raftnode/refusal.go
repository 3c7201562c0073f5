package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

// endOnRefusal makes a pipeline end with the first answer that is not a success. The library stops to read answers then, but
// goes on to send: when two calls are under way it blocks in the next one for good, and with it the replication to that
// follower, and later the end of the process.
func endOnRefusal(p raft.AppendPipeline) raft.AppendPipeline {
	e := &endingPipeline{AppendPipeline: p, out: make(chan raft.AppendFuture), closed: make(chan struct{})}
	go e.run()
	return e
}

type endingPipeline struct {
	raft.AppendPipeline
	out    chan raft.AppendFuture
	once   sync.Once
	closed chan struct{}
}

// run passes answers on. It ends with the pipeline.
func (e *endingPipeline) run() {
	for {
		select {
		case f := <-e.AppendPipeline.Consumer():
			refused := !f.Response().Success // the answer of a call that failed is empty
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
func (e *endingPipeline) Consumer() <-chan raft.AppendFuture { return e.out }

// Close implements raft.AppendPipeline. It may be called while another call is under way, and more than once.
func (e *endingPipeline) Close() error {
	e.once.Do(func() { close(e.closed) })
	return e.AppendPipeline.Close()
}
