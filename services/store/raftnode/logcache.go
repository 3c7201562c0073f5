package raftnode

import (
	"sync"

	"github.com/hashicorp/raft"
)

const (
	// The cache holds entries up to this many bytes and this many entries, and always the newest one.
	logCacheBytes   = 8 << 20
	logCacheEntries = 512
)

// logCache keeps the newest log entries in memory: those that go to the other members and to the state machine right
// after they were stored. Entries hold up to a megabyte, so it is bounded by bytes.
type logCache struct {
	mu   sync.Mutex
	ring [logCacheEntries]*raft.Log // by index
	// [first, next) are in the cache.
	first, next uint64
	bytes       int
}

// add takes entries that were stored.
func (c *logCache) add(logs []*raft.Log) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range logs {
		if l.Index != c.next {
			c.clear()
			c.first, c.next = l.Index, l.Index
		}
		for c.next > c.first && (c.bytes+len(l.Data) > logCacheBytes || c.next-c.first == logCacheEntries) {
			c.drop()
		}
		c.ring[l.Index%logCacheEntries] = l
		c.bytes += len(l.Data)
		c.next++
	}
}

// drop forgets the oldest entry.
func (c *logCache) drop() {
	at := &c.ring[c.first%logCacheEntries]
	c.bytes -= len((*at).Data)
	*at = nil
	c.first++
}

// get copies an entry into l and reports whether it was there.
func (c *logCache) get(index uint64, l *raft.Log) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if index < c.first || index >= c.next {
		return false
	}
	*l = *c.ring[index%logCacheEntries]
	return true
}

// deleted tells that the entries in [from, to] are gone.
func (c *logCache) deleted(from, to uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from > c.first { // its end
		c.clear()
		return
	}
	for c.first < c.next && c.first <= to {
		c.drop()
	}
}

func (c *logCache) clear() {
	clear(c.ring[:])
	c.first, c.next, c.bytes = 0, 0, 0
}
