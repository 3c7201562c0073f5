package watchcache

// TryNext is the next event if it is at hand: a sender can put several into one message without waiting for any. Like
// Next, one goroutine at a time may call it.
func (w *Watcher) TryNext() (WatchEvent, bool) {
	if w.err != nil {
		return WatchEvent{}, false
	}
	return w.ready()
}
