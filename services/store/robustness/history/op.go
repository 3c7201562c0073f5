package history

// Kind is what a call did.
type Kind string

// Kinds of call. Create, Update and Delete are transactions that compare the key's mod revision, as an API server's are:
// when the comparison fails they read the key in its place.
const (
	Create Kind = "create"
	Update Kind = "update"
	Delete Kind = "delete"
	// Put writes one or more keys at once without looking.
	Put  Kind = "put"
	Get  Kind = "get"
	List Kind = "list"
)

// Outcome is what its client knows of a call.
type Outcome string

// Outcomes of a call.
const (
	// OK: the call was answered.
	OK Outcome = "ok"
	// Failed: the call had no effect and never will.
	Failed Outcome = "failed"
	// Unknown: the answer was lost; a write may have been made, or may still be.
	Unknown Outcome = "unknown"
)

// KV is one version of a key. Value is what the writer named it (see [Value]).
type KV struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Create  int64  `json:"create"`
	Mod     int64  `json:"mod"`
	Version int64  `json:"version"`
	Lease   int64  `json:"lease,omitempty"`
}

// Op is one call. Times are nanoseconds since the run began.
type Op struct {
	Client string `json:"client"`
	Kind   Kind   `json:"kind"`
	// Keys that the call writes or reads; for a List [Prefix] instead.
	Keys   []string `json:"keys,omitempty"`
	Prefix string   `json:"prefix,omitempty"`
	// Value is what a write wrote, Expect the mod revision that it compared with.
	Value  string `json:"value,omitempty"`
	Expect int64  `json:"expect,omitempty"`
	Lease  int64  `json:"lease,omitempty"`
	// Revision asked for by a read; 0 for the newest. Serializable reads may be stale.
	Revision     int64 `json:"revision,omitempty"`
	Serializable bool  `json:"serializable,omitempty"`
	// Limit and After make a list a page: at most so many keys, those after After.
	Limit int64  `json:"limit,omitempty"`
	After string `json:"after,omitempty"`

	Call    int64   `json:"call"`
	Return  int64   `json:"return"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`

	// Header is the store's revision in the answer; for a write that was made it is its own. Succeeded says whether the
	// comparison held.
	Header    int64 `json:"header,omitempty"`
	Succeeded bool  `json:"succeeded,omitempty"`
	// Read is what a read found, or what a write found in its way. Prev are the versions that a write replaced, when it
	// asked for them.
	Read    []KV  `json:"read,omitempty"`
	Prev    []KV  `json:"prev,omitempty"`
	HasPrev bool  `json:"hasPrev,omitempty"`
	Count   int64 `json:"count,omitempty"`
	More    bool  `json:"more,omitempty"`
}

// Writes reports whether the call can change the store.
func (o *Op) Writes() bool { return o.Kind != Get && o.Kind != List }

// Conditional reports whether the call compares before it writes.
func (o *Op) Conditional() bool { return o.Kind == Create || o.Kind == Update || o.Kind == Delete }

// Made reports whether the write is known to have been made.
func (o *Op) Made() bool {
	return o.Writes() && o.Outcome == OK && (o.Succeeded || !o.Conditional())
}

// Linearizable reports whether the call had to see every write that was acknowledged before it.
func (o *Op) Linearizable() bool {
	return o.Outcome == OK && (o.Writes() || !o.Serializable && o.Revision == 0)
}
