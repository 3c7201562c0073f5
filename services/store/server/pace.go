package server

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// messageRate is how many messages with events a member aims to send a second, all watches together. A message costs both sides
// tens of microseconds, whatever it holds: under a flood fewer and larger ones deliver more.
const messageRate = 10_000

// maxPause bounds how long an event waits for company.
const maxPause = 25 * time.Millisecond

// pacing divides time into windows. In one window each watch sends one message, at once; with its next one it waits for the next window. A
// window is as long as its messages may take by messageRate, or those of the window just before. So nothing is held back while
// there is little to send, a lone event never is, nor is the first of a flood; and those who wait go on together, so that messages on
// one connection share system calls.
type pacing struct {
	clock clock.Clock

	mu    sync.Mutex
	id    int64 // of the present window
	start time.Time
	// sent and before are the messages in this window and in the one before it.
	sent, before int
}

func newPacing(c clock.Clock) *pacing { return &pacing{clock: c} }

// length of the present window. mu is held.
func (p *pacing) length() time.Duration {
	return min(time.Duration(max(p.sent, p.before))*time.Second/messageRate, maxPause)
}

// pacer is one watch's part.
type pacer struct {
	*pacing
	window int64 // in which it sent last
	// hurry ends a wait; it holds at most one.
	hurry chan struct{}
}

func (p *pacing) pacer() *pacer { return &pacer{pacing: p, hurry: make(chan struct{}, 1)} }

// take enters the present window, or says for how long there is to wait for the next.
func (p *pacer) take(hurry bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	length := p.length()
	if age := now.Sub(p.start); age >= length {
		if p.before = p.sent; age >= 2*length {
			p.before = 0
		}
		p.id, p.start, p.sent = p.id+1, now, 0
	} else if p.window == p.id && !hurry {
		return length - age
	}
	p.window = p.id
	p.sent++
	return 0
}

// wait returns when the next message may be sent, somebody is in a hurry, or ctx is over.
func (p *pacer) wait(ctx context.Context) {
	hurry := false
	for {
		rest := p.take(hurry)
		if rest <= 0 {
			return
		}
		timer := p.clock.NewTimer(rest)
		select {
		case <-timer.C():
		case <-p.hurry:
			hurry = true
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// soon ends the wait: what is there is sent now.
func (p *pacer) soon() {
	select {
	case p.hurry <- struct{}{}:
	default:
	}
}
