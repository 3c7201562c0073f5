package client

import (
	"context"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/wire"
)

const (
	// A message is closed when it has this many bytes; one call may be larger than that.
	maxSend = 256 << 10
	// silence is for how long a member may say nothing while calls are open: one that lives says something every 250 ms, and a
	// machine that is short of processors must not make it look dead.
	silence = 3 * time.Second
	// maxLanePause bounds the time between attempts to open a lane.
	maxLanePause = time.Second
)

// lane is a stream to one member, opened anew whenever it ends. Its fields but the first four are under the pipeline's lock.
type lane struct {
	p        *pipeline
	store    storev1.StoreServiceClient
	endpoint string
	wake     chan struct{} // there are calls in queue, or the lane drains; holds at most one

	queue []*call          // not sent
	sent  map[uint64]*call // sent, without an answer
	next  uint64           // id of the next call
	heard time.Time        // when the member last said something
	// up: the member takes calls. leads: it is the leader. drains: it is about to stop.
	up, leads, drains bool
}

func (l *lane) ring() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run keeps the lane open until ctx ends.
func (l *lane) run(ctx context.Context) {
	wait := pause
	for ctx.Err() == nil {
		began := time.Now()
		err := l.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if !transient(err) {
			l.p.refuse(err)
		}
		if time.Since(began) > maxLanePause {
			wait = pause
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, maxLanePause)
		case <-ctx.Done():
		}
	}
}

// once opens the stream and serves it until it ends.
func (l *lane) once(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, memberKey{}, l.endpoint))
	defer cancel()
	stream, err := l.store.Pipeline(ctx, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	var others sync.WaitGroup
	others.Go(func() { l.send(ctx, stream) })
	others.Go(func() { l.watch(ctx, cancel) })
	err = l.receive(stream)
	cancel()
	others.Wait()
	l.down(err)
	return err
}

// receive hands out answers until the stream ends.
func (l *lane) receive(stream grpc.ClientStream) error {
	var a wire.Answers
	for {
		f := &wire.Frame{}
		if err := stream.RecvMsg(f); err != nil {
			return err
		}
		clear(a.Items)
		a = wire.Answers{Items: a.Items[:0]}
		if err := a.Decode(f.Data); err != nil {
			return err
		}
		l.take(&a)
	}
}

func (l *lane) take(a *wire.Answers) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.heard = time.Now()
	for i := range a.Items {
		if c := l.sent[a.Items[i].ID]; c != nil { // else its caller has left
			delete(l.sent, c.id)
			c.finish(a.Items[i], nil)
			if a.Items[i].Kind == wire.Failure && wire.Disconnected(a.Items[i].Err(c.kind)) {
				l.leads = false // whatever it said: it has no leader, or ends
			}
		}
	}
	if a.RoleKnown {
		l.up, l.leads = true, a.Leads
		l.p.settle()
	}
	if a.Drain {
		l.drains = true
		l.move()
		l.ring()
	}
}

// move gives the calls that were not sent to other lanes. The pipeline's lock is held.
func (l *lane) move() {
	l.p.homeless = append(l.p.homeless, l.queue...)
	l.queue = nil
	l.p.settle()
}

// down ends the lane: what was sent is lost, the rest moves.
func (l *lane) down(err error) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.up, l.leads, l.drains = false, false, false
	for _, c := range l.sent {
		c.finish(wire.Item{}, errLost(err))
	}
	clear(l.sent)
	l.move()
}

// send sends what is in the queue, in one message what came at about the same time, until the stream ends.
func (l *lane) send(ctx context.Context, stream grpc.ClientStream) {
	for {
		select {
		case <-l.wake:
		case <-ctx.Done():
			return
		}
		// The callers of the last answers are about to call again: let those that can run do so first, so that they ride
		// together. When nobody else can run this costs nothing.
		runtime.Gosched()
		for {
			buf, drains := l.gather()
			if buf == nil && drains {
				stream.CloseSend() //nolint:errcheck // the receiver sees what is wrong
				return
			}
			if buf == nil {
				break
			}
			if err := stream.SendMsg(wire.NewFrame(buf)); err != nil {
				return // the receiver sees why, and what was taken counts as sent
			}
		}
	}
}

// gather makes a message of the calls that wait, nil when there is none.
func (l *lane) gather() (buf *[]byte, drains bool) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	taken := 0
	for _, c := range l.queue {
		if buf != nil && len(*buf)+len(c.payload) > maxSend {
			break
		}
		taken++
		if c.left {
			continue
		}
		if buf == nil {
			buf = wire.Buffer()
			if len(l.sent) == 0 {
				l.heard = time.Now() // silence counts from here
			}
		}
		l.next++
		c.lane, c.id = l, l.next
		*buf = wire.AppendItem(*buf, c.id, c.kind, c.payload)
		l.sent[c.id] = c
	}
	rest := copy(l.queue, l.queue[taken:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	return buf, l.drains
}

// watch ends the stream when the member says nothing for too long although calls are open.
func (l *lane) watch(ctx context.Context, end context.CancelFunc) {
	ticker := time.NewTicker(silence / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.p.mu.Lock()
			dead := l.up && len(l.sent) > 0 && time.Since(l.heard) > silence
			l.p.mu.Unlock()
			if dead {
				end()
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
