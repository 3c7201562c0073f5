package watchcache

import "sync"

// broadcast wakes everybody who waits. Who wants to wait takes the channel first and looks at the condition then.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// wait is a channel that the next signal closes.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) signal() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
