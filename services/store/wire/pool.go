package wire

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

// Pool is where connections of the store's protocol take their buffers from. gRPC's own clears a buffer whenever it is taken, up to a
// megabyte for a message of 33 KB; those of this one are written before they are read.
var Pool mem.BufferPool = &tiers{}

// Buffers have 1<<minTier bytes to 1<<maxTier, by factors of 4: the 16 KB of a frame are among them. Larger ones are not kept.
const (
	minTier, tierStep = 8, 2
	maxTier           = minTier + 6*tierStep
)

type tiers [(maxTier-minTier)/tierStep + 1]sync.Pool

// Get implements mem.BufferPool.
func (t *tiers) Get(n int) *[]byte {
	i := 0
	if n > 1<<minTier {
		i = (bits.Len(uint(n-1)) - minTier + tierStep - 1) / tierStep
	}
	if i >= len(t) {
		b := make([]byte, n)
		return &b
	}
	b, ok := t[i].Get().(*[]byte)
	if !ok {
		made := make([]byte, 1<<(minTier+i*tierStep))
		b = &made
	}
	*b = (*b)[:n]
	return b
}

// Put implements mem.BufferPool.
func (t *tiers) Put(b *[]byte) {
	n := cap(*b)
	if n < 1<<minTier || n > 1<<maxTier {
		return
	}
	t[(bits.Len(uint(n))-1-minTier)/tierStep].Put(b)
}
