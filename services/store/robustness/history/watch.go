package history

import "strings"

// Event is one change as a watch told it.
type Event struct {
	Rev     int64  `json:"rev"`
	Key     string `json:"key"`
	Deleted bool   `json:"deleted,omitempty"`
	KV      KV     `json:"kv"`
	Prev    *KV    `json:"prev,omitempty"`
}

// Response is one message of a watch. Without events it is a progress notice.
type Response struct {
	At       int64   `json:"at"`
	Revision int64   `json:"revision"`
	Events   []Event `json:"events,omitempty"`
}

// Watch is everything that one watch was asked for and told.
type Watch struct {
	Name string `json:"name"`
	// Prefix selects the keys, or Key one alone.
	Prefix string `json:"prefix,omitempty"`
	Key    string `json:"key,omitempty"`
	// Start is the first revision that it asked for.
	Start    int64 `json:"start"`
	PrevKV   bool  `json:"prevKV,omitempty"`
	NoPut    bool  `json:"noPut,omitempty"`
	NoDelete bool  `json:"noDelete,omitempty"`
	// Resumed says that the watch went on where another one stopped.
	Resumed bool `json:"resumed,omitempty"`

	Responses []Response `json:"responses,omitempty"`
	// Ended is the error that ended it, empty when the run closed it. Stalled says what it did not deliver in time.
	Ended string `json:"ended,omitempty"`
	// Expired says that it was ended because the history that it needed was compacted.
	Expired bool   `json:"expired,omitempty"`
	Stalled string `json:"stalled,omitempty"`
}

// Wants reports whether an event belongs to the watch, wherever it starts.
func (w *Watch) Wants(e *Event) bool {
	if w.NoPut && !e.Deleted || w.NoDelete && e.Deleted {
		return false
	}
	return w.Covers(e.Key)
}

// Covers reports whether the key is one that the watch looks at.
func (w *Watch) Covers(key string) bool {
	if w.Key != "" {
		return key == w.Key
	}
	return strings.HasPrefix(key, w.Prefix)
}

// Whole reports whether the watch sees all changes of the whole key space.
func (w *Watch) Whole() bool { return w.Key == "" && w.Prefix == Root && !w.NoPut && !w.NoDelete }

// Root is the prefix of every key that a run writes.
const Root = "/registry/"
