package kv

import "context"

// KV is the store as its clients see it. All methods are safe for concurrent use.
type KV interface {
	// Range reads keys in byte order. Linearizable unless req.Serializable: it reflects every write acknowledged
	// before the call. Errors: ErrCompacted, ErrFutureRevision.
	Range(ctx context.Context, req RangeRequest) (*RangeResponse, error)
	// Txn evaluates Compare and applies Then or Else, whole or not at all, as one revision. When it returns without
	// an error the result is durable on a majority. A Txn that writes nothing takes no revision.
	// A key may be written once in a branch. Errors: ErrInvalid, ErrNoSpace, ErrTooLarge, ErrLeaseNotFound,
	// ErrKeyNotFound, ErrNoLeader (all: nothing was written); on ErrOutcomeUnknown and on a context error the outcome
	// is unknown.
	Txn(ctx context.Context, req TxnRequest) (*TxnResponse, error)
	// Watch streams the changes of a key range from a revision on; see Watcher. It returns once the watch is
	// registered. Errors: ErrCompacted when StartRevision lies before the compaction point.
	Watch(ctx context.Context, req WatchRequest) (Watcher, error)
	// Compact forgets the history before revision; the newest version of each living key stays readable.
	// Errors: ErrCompacted when already compacted past it, ErrFutureRevision.
	Compact(ctx context.Context, revision int64) error
	// Revision is the newest revision applied, read linearizably: a cache that has caught up with it reflects every
	// write acknowledged before the call. Cheap: concurrent calls share one round.
	Revision(ctx context.Context) (int64, error)
	// LeaseGrant makes a lease that expires ttlSeconds after its last keep-alive and takes its keys with it.
	// id 0 lets the store choose.
	LeaseGrant(ctx context.Context, id, ttlSeconds int64) (Lease, error)
	LeaseRevoke(ctx context.Context, id int64) error
	LeaseKeepAlive(ctx context.Context, id int64) (Lease, error)
}

// KeyValue is one version of one key.
type KeyValue struct {
	Key   []byte
	Value []byte
	// CreateRevision is the revision at which the key last came into being, ModRevision that of this version.
	CreateRevision, ModRevision int64
	// Version counts the writes since creation, starting at 1.
	Version int64
	Lease   int64
	// TraceParent is the W3C trace context of the write that made this version; empty when it had none.
	TraceParent string
}

// RangeRequest selects the keys in [Key, End). An empty End selects Key alone, an End of one zero byte has no upper
// limit; PrefixEnd gives the End of a prefix.
type RangeRequest struct {
	Key, End []byte
	// Revision 0 reads the newest state.
	Revision int64
	// Limit 0 means no limit.
	Limit               int64
	CountOnly, KeysOnly bool
	Serializable        bool
}

// RangeResponse holds the selected keys. The caller must not change the bytes: they may be shared with the store.
type RangeResponse struct {
	// Revision is the store's revision at which the range was read (the requested one, or the newest).
	Revision int64
	KVs      []KeyValue
	// Count is the number of keys in the range regardless of Limit.
	Count int64
	More  bool
}

// CompareTarget says what Compare looks at.
type CompareTarget int32

// Targets of a comparison. A missing key has 0 for each of the numbers and a nil value.
const (
	CompareMod CompareTarget = iota
	CompareCreate
	CompareVersion
	CompareLease
	CompareValue
)

// CompareResult is the relation that must hold between the key's target and the given operand.
type CompareResult int32

// Relations of a comparison.
const (
	Equal CompareResult = iota
	Greater
	Less
	NotEqual
)

// Compare is one condition of a Txn. End selects a range, in which the condition must hold for every key; a range without
// keys is like a missing key.
type Compare struct {
	Key, End []byte
	Target   CompareTarget
	Result   CompareResult
	Number   int64
	Value    []byte
}

// Op is one step of a Txn: exactly one field is set.
type Op struct {
	Range  *RangeRequest
	Put    *PutRequest
	Delete *DeleteRequest
}

// PutRequest writes a key.
type PutRequest struct {
	Key, Value []byte
	Lease      int64
	PrevKV     bool
	// IgnoreValue keeps the present value, IgnoreLease the present lease; the key must exist.
	IgnoreValue, IgnoreLease bool
}

// DeleteRequest deletes the keys in [Key, End), or Key alone when End is nil.
type DeleteRequest struct {
	Key, End []byte
	PrevKV   bool
}

// TxnRequest is: if all of Compare hold, Then, else Else. TraceParent empty means that of ctx.
type TxnRequest struct {
	Compare     []Compare
	Then, Else  []Op
	TraceParent string
}

// TxnResponse has one OpResponse for each step of the branch that ran.
type TxnResponse struct {
	// Revision is the store's revision after the transaction: its own when it wrote.
	Revision  int64
	Succeeded bool
	Responses []OpResponse
}

// OpResponse mirrors Op.
type OpResponse struct {
	Range   *RangeResponse
	PrevKVs []KeyValue
	Deleted int64
}

// WatchRequest asks for the changes of [Key, End) (nil End: Key alone).
type WatchRequest struct {
	Key, End []byte
	// StartRevision is the first revision delivered; 0 means those after the newest at registration.
	StartRevision int64
	// PrevKV adds the version before each change.
	PrevKV bool
	// NoPut and NoDelete filter.
	NoPut, NoDelete bool
	// ProgressNotify asks for a WatchResponse without events, carrying the revision, when the watch was idle for
	// the store's progress interval.
	ProgressNotify bool
}

// EventType is the kind of a change.
type EventType int32

// Kinds of change.
const (
	EventPut EventType = iota
	EventDelete
)

// Event is one change of one key. For a delete KV has the key, ModRevision (the deletion's) and TraceParent alone.
type Event struct {
	Type   EventType
	KV     KeyValue
	PrevKV *KeyValue
}

// WatchResponse carries all events of one or more whole revisions, in order. Without events it is a progress notice:
// everything up to Revision has been delivered.
type WatchResponse struct {
	Revision int64
	Events   []Event
}

// Watcher is an open watch. Events come in revision order, none twice, none skipped; a revision is never split over
// two responses.
type Watcher interface {
	// Next blocks for the next response. It returns an *ExpiredError when the watcher fell behind what the store
	// keeps (resume with a fresh list), ErrCompacted when its start was compacted, ctx's error, or ErrClosed after Close.
	Next(ctx context.Context) (WatchResponse, error)
	// RequestProgress asks for a progress notice as soon as the watch has caught up.
	RequestProgress() error
	// Close ends the watch and frees what it held.
	Close()
}

// Lease is a lease's id and the seconds that are left of its granted time to live.
type Lease struct {
	ID, TTL, GrantedTTL int64
}

// PrefixEnd is the End that selects every key beginning with prefix; nil prefix selects the whole space.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return end[:i+1]
		}
	}
	// The single zero byte means "no end", as in etcd: no range could end there otherwise.
	return []byte{0}
}
