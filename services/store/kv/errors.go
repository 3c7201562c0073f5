package kv

import (
	"errors"
	"fmt"
)

// Errors that callers act on; compare with errors.Is. Over gRPC each has a code of its own and arrives as itself.
var (
	ErrCompacted      = errors.New("the requested revision has been compacted: list again and continue from the new revision")
	ErrFutureRevision = errors.New("the requested revision is newer than the store")
	ErrNoSpace        = errors.New("the store is over its size quota: compact, delete or raise the quota, then disarm the NOSPACE alarm")
	ErrTooLarge       = errors.New("the request is larger than the store accepts")
	ErrLeaseNotFound  = errors.New("no such lease")
	ErrLeaseExists    = errors.New("a lease with this id exists")
	ErrKeyNotFound    = errors.New("no such key")
	ErrNoLeader       = errors.New("the store has no leader now: retry")
	ErrClosed         = errors.New("closed")
	// ErrInvalid is wrapped by an error that says what is wrong with the request.
	ErrInvalid = errors.New("invalid request")
	// ErrOutcomeUnknown means that the connection or the leader went away with the write in flight: it may have been
	// applied or not. Read before writing again.
	ErrOutcomeUnknown = errors.New("the outcome of the write is unknown: read before retrying")
)

// ExpiredError ends a watch that fell behind; Revision is the last one that was delivered whole.
type ExpiredError struct{ Revision int64 }

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the watch fell too far behind and was ended after revision %d", e.Revision)
}

// Is makes errors.Is(err, ErrCompacted) true: to the watcher both mean that the history it needs is gone.
func (e *ExpiredError) Is(target error) bool { return target == ErrCompacted }
