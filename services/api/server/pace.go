package server

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// pieceRate is how many pieces of REST watches the process aims to send a second, all watches together. Each piece costs two
// encryptions and a handful of system calls on its way, whatever it holds, so under a flood fewer and larger ones deliver more.
const pieceRate = 4_000

// maxPause bounds how long an event waits for company.
const maxPause = 100 * time.Millisecond

// pacing spreads pieceRate over the watches that are open.
type pacing struct {
	clock clock.Clock
	open  atomic.Int64
}

// pacer is one watch's share. Its first event after a rest goes out at once; only in a flood does the next wait, for
// those that come right behind it.
type pacer struct {
	pacing *pacing
	last   time.Time
}

func (p *pacing) begin() *pacer {
	p.open.Add(1)
	return &pacer{pacing: p}
}

func (p *pacer) end() { p.pacing.open.Add(-1) }

// wait returns when the next piece may be sent, or ctx is over.
func (p *pacer) wait(ctx context.Context) {
	pause := min(time.Duration(p.pacing.open.Load())*time.Second/pieceRate, maxPause)
	now := p.pacing.clock.Now()
	if rest := p.last.Add(pause).Sub(now); rest > 0 {
		timer := p.pacing.clock.NewTimer(rest)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
		now = p.pacing.clock.Now()
	}
	p.last = now
}
