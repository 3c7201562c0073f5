package kv

import "context"

// Batcher is what a KV offers beside when it can take many calls at once without a goroutine for each. The gRPC server
// uses it for what arrives together.
type Batcher interface {
	// TxnBatch takes transactions that were validated and that write. It may wait for room in the queue, and returns
	// before they are done: sink is told of each, once, from another goroutine and in any order. It takes none and
	// returns false when the write path does not begin in this process.
	TxnBatch(ctx context.Context, calls []TxnCall, sink TxnSink) bool
	// Linearize waits until serializable reads reflect every write acknowledged before the call.
	Linearize(ctx context.Context) error
	// Linear reports whether Linearize would return at once.
	Linear() bool
	// Scan is Range without a list: it calls fn with each key of the answer, in order, until fn returns false; the response
	// has no keys. fn must not change what it gets.
	Scan(ctx context.Context, req RangeRequest, fn func(*KeyValue) bool) (*RangeResponse, error)
	// Leads reports whether writes begin in this process; the channel is closed when that may have changed.
	Leads() (bool, <-chan struct{})
}

// TxnCall is a transaction with a number that the caller chose.
type TxnCall struct {
	Tag uint64
	Req *TxnRequest
}

// TxnSink is told how transactions ended. It must not block: the next ones wait for it.
type TxnSink interface {
	TxnDone(tag uint64, resp *TxnResponse, err error)
	// Flush says that all that ended together has been told.
	Flush()
}
