package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/wire"
)

const (
	// maxOutstanding and maxUnsent bound what a client has in this server: calls without an answer, and bytes of answers
	// that are not sent. Past either nothing more is read from it, and flow control stops it.
	maxOutstanding = 8192
	maxUnsent      = 16 << 20
	// beat is how often a client with open calls hears something, so that it can tell a slow member from a dead one.
	beat = 250 * time.Millisecond
)

// Pipeline implements StoreService: many calls on one stream. Calls that arrive in one message enter the log together and
// share one round of reads; answers that are there at one time leave in one message. No call has a goroutine of its own
// as long as the write path begins in this process.
func (s *Store) Pipeline(stream grpc.BidiStreamingServer[storev1.PipelineRequest, storev1.PipelineResponse]) error {
	p := &pipeline{store: s, stream: stream, ctx: stream.Context(), wake: make(chan struct{}, 1), room: make(chan struct{}, 1), quit: make(chan struct{})}
	p.batcher, _ = s.kv.(kv.Batcher)
	var sender sync.WaitGroup
	sender.Go(p.send)
	err := p.receive()
	p.calls.Wait()
	close(p.quit) // the sender sends what is left
	sender.Wait()
	if err == nil {
		err = p.failed
	}
	return err
}

// pipeline is one stream.
type pipeline struct {
	store   *Store
	batcher kv.Batcher // nil when the key space takes one call at a time
	stream  grpc.ServerStream
	ctx     context.Context
	wake    chan struct{} // there is something to send; holds at most one
	room    chan struct{} // there is room again; holds at most one
	quit    chan struct{} // closed when no more answers come

	calls  sync.WaitGroup // those without an answer
	failed error          // the sender's

	mu          sync.Mutex
	out         *[]byte   // answers to be sent
	full        []*[]byte // messages that are complete, before out
	outstanding int
	unsent      int
}

// receive reads calls until the client closes its side, which is the good end.
func (p *pipeline) receive() error {
	for {
		f := &wire.Frame{}
		if err := p.stream.RecvMsg(f); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := p.take(f.Data); err != nil {
			return wire.ToStatus(fmt.Errorf("%w: %w", kv.ErrInvalid, err))
		}
		for {
			p.mu.Lock()
			full := p.outstanding > maxOutstanding || p.unsent > maxUnsent
			p.mu.Unlock()
			if !full {
				break
			}
			select {
			case <-p.room:
			case <-p.ctx.Done():
				return p.ctx.Err()
			}
		}
	}
}

// read is a call that only reads.
type read struct {
	id  uint64
	req *kv.RangeRequest // nil asks for the revision
}

// take begins the calls of a message.
func (p *pipeline) take(data []byte) error {
	var txns []kv.TxnCall
	var reads, local []read // local ones take what this member has
	for c, err := range wire.Calls(data) {
		if err != nil {
			return err
		}
		p.begin()
		switch c.Kind {
		case wire.CallTxn:
			req, err := wire.DecodeTxn(c.Body)
			if err == nil {
				err = mvcc.Validate(req)
			}
			switch {
			case err != nil:
				p.TxnDone(c.ID, nil, err)
				p.Flush()
			case mvcc.ReadOnly(req), p.batcher == nil:
				p.single(kv.TxnCall{Tag: c.ID, Req: req})
			default:
				txns = append(txns, kv.TxnCall{Tag: c.ID, Req: req})
			}
		case wire.CallRange:
			req, err := wire.DecodeRange(c.Body)
			if err == nil && len(req.End) > 0 {
				err = fmt.Errorf("%w: a pipeline reads one key at a time: use Range", kv.ErrInvalid)
			}
			if err != nil {
				p.fail(c.ID, err)
				continue
			}
			if req.Serializable {
				local = append(local, read{c.ID, req})
			} else {
				reads = append(reads, read{c.ID, req})
			}
		case wire.CallRevision:
			reads = append(reads, read{id: c.ID})
		default:
			p.fail(c.ID, fmt.Errorf("%w: a pipeline has no call of kind %d: update this member", kv.ErrInvalid, c.Kind))
		}
	}
	if len(txns) > 0 && !p.batcher.TxnBatch(p.ctx, txns, p) {
		for _, c := range txns {
			p.single(c)
		}
	}
	if len(local) > 0 {
		p.readAll(local, false) // they wait for nobody, least of all for a leader
	}
	switch {
	case len(reads) == 0:
	case p.batcher != nil && p.batcher.Linear():
		p.readAll(reads, true)
	default:
		go p.readLater(reads) // each of reads is in calls
	}
	return nil
}

// single runs a transaction on a goroutine of its own.
func (p *pipeline) single(c kv.TxnCall) {
	go func() {
		ctx := kv.WithTraceParent(p.ctx, c.Req.TraceParent)
		resp, err := p.store.kv.Txn(ctx, *c.Req)
		p.TxnDone(c.Tag, resp, err)
		p.Flush()
	}()
}

// readLater makes one round for all of reads.
func (p *pipeline) readLater(reads []read) {
	linear := false
	if p.batcher != nil {
		if err := p.batcher.Linearize(p.ctx); err != nil {
			for _, r := range reads {
				p.fail(r.id, err)
			}
			return
		}
		linear = true
	}
	p.readAll(reads, linear)
}

// readAll reads; with linear set this member shows everything that the reads must see.
func (p *pipeline) readAll(reads []read, linear bool) {
	for _, r := range reads {
		if r.req == nil {
			// A range that selects nothing has the revision. The empty key is never there.
			resp, err := p.store.kv.Range(p.ctx, kv.RangeRequest{CountOnly: true, Serializable: linear})
			p.answer(err, r.id, func(b []byte) []byte { return wire.AppendRevisionAnswer(b, r.id, resp.Revision) })
			continue
		}
		req := *r.req
		req.Serializable = req.Serializable || linear
		resp, err := p.store.kv.Range(p.ctx, req)
		p.answer(err, r.id, func(b []byte) []byte { return wire.AppendRangeAnswer(b, r.id, resp) })
	}
	p.Flush()
}

// begin notes a call, which ends with its answer.
func (p *pipeline) begin() {
	p.calls.Add(1)
	p.mu.Lock()
	p.outstanding++
	p.mu.Unlock()
}

func (p *pipeline) fail(id uint64, err error) {
	p.answer(err, id, nil)
	p.Flush()
}

// TxnDone implements kv.TxnSink.
func (p *pipeline) TxnDone(id uint64, resp *kv.TxnResponse, err error) {
	p.answer(err, id, func(b []byte) []byte { return wire.AppendTxnAnswer(b, id, resp) })
}

// answer adds an answer to what is sent next: err, or what add writes.
func (p *pipeline) answer(err error, id uint64, add func([]byte) []byte) {
	p.mu.Lock()
	if p.out == nil {
		p.out = wire.Buffer()
	}
	before := len(*p.out)
	if err != nil {
		*p.out = wire.AppendFailure(*p.out, id, err)
	} else {
		*p.out = add(*p.out)
	}
	p.unsent += len(*p.out) - before
	if len(*p.out) >= part {
		p.full, p.out = append(p.full, p.out), nil
	}
	p.outstanding--
	p.mu.Unlock()
	p.calls.Done()
}

// Flush implements kv.TxnSink: what was answered is sent.
func (p *pipeline) Flush() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// send sends answers, and what this member is, until quit and everything is sent, or the stream breaks.
func (p *pipeline) send() {
	leads, changed := true, (<-chan struct{})(nil)
	if p.batcher != nil {
		leads, changed = p.batcher.Leads()
	}
	drain := p.store.drain
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	p.failed = p.say(func(b []byte) []byte { return wire.AppendRole(b, leads) })
	for p.failed == nil {
		select {
		case <-p.wake:
			p.failed = p.sendAnswers()
		case <-changed:
			leads, changed = p.batcher.Leads()
			p.failed = p.say(func(b []byte) []byte { return wire.AppendRole(b, leads) })
		case <-drain:
			drain = nil
			p.failed = p.say(wire.AppendDrain)
		case <-ticker.C:
			p.mu.Lock()
			waits := p.outstanding > 0
			p.mu.Unlock()
			if waits {
				p.failed = p.say(func(b []byte) []byte { return b })
			}
		case <-p.quit:
			p.failed = p.sendAnswers()
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// say sends a message without answers.
func (p *pipeline) say(what func([]byte) []byte) error {
	buf := wire.Buffer()
	*buf = what(*buf)
	return p.stream.SendMsg(wire.NewFrame(buf))
}

func (p *pipeline) sendAnswers() error {
	for {
		p.mu.Lock()
		var buf *[]byte
		if len(p.full) > 0 {
			buf = p.full[0]
			p.full = append(p.full[:0], p.full[1:]...)
		} else {
			buf, p.out = p.out, nil
		}
		p.mu.Unlock()
		if buf == nil {
			return nil
		}
		n := len(*buf)
		err := p.stream.SendMsg(wire.NewFrame(buf))
		p.mu.Lock()
		p.unsent -= n
		p.mu.Unlock()
		select {
		case p.room <- struct{}{}:
		default:
		}
		if err != nil {
			return err
		}
	}
}
