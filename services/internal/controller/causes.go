package controller

import (
	"slices"
	"sync"
)

// maxCauses bounds the trace contexts that one reconcile remembers: its parent and the links.
const maxCauses = 17

// causes holds the trace contexts (W3C traceparents) of the keys that wait, the first one first; a key is in it no longer
// than in the queue.
type causes struct {
	mu    sync.Mutex
	byKey map[string][]string
}

func (c *causes) add(key, traceParent string) {
	if traceParent == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, append(c.byKey[key], traceParent))
}

func (c *causes) take(key string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.byKey[key]
	delete(c.byKey, key)
	return all
}

// restore puts back the causes of a reconcile that failed, before those that came meanwhile.
func (c *causes) restore(key string, before []string) {
	if len(before) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, append(slices.Clone(before), c.byKey[key]...))
}

func (c *causes) put(key string, all []string) {
	if c.byKey == nil {
		c.byKey = map[string][]string{}
	}
	if last := len(all) - 1; last > 0 && slices.Contains(all[:last], all[last]) {
		all = all[:last]
	}
	c.byKey[key] = all[:min(len(all), maxCauses)]
}
