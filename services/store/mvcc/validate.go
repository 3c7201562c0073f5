package mvcc

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Limits of a transaction. The byte limit holds the keys and values of both branches; it leaves room for the largest
// object that the API accepts (3 MiB) with its overhead.
const (
	MaxTxnBytes = 4 << 20
	MaxTxnOps   = 4096
	MaxKeyBytes = 64 << 10

	maxTraceParent = 256
)

// Validate checks what can be said about a transaction without the state. It runs before a request is proposed:
// whatever is in the log has passed it.
func Validate(req *kv.TxnRequest) error {
	if n := len(req.Compare) + len(req.Then) + len(req.Else); n > MaxTxnOps {
		return fmt.Errorf("%w: %d conditions and operations, at most %d", kv.ErrTooLarge, n, MaxTxnOps)
	}
	if n := len(req.TraceParent); n > maxTraceParent || !utf8.ValidString(req.TraceParent) {
		return fmt.Errorf("%w: the trace parent is not one (%d bytes)", kv.ErrInvalid, n)
	}
	size := 0
	for i := range req.Compare {
		c := &req.Compare[i]
		size += len(c.Key) + len(c.Value)
		if c.Target < kv.CompareMod || c.Target > kv.CompareValue || c.Result < kv.Equal || c.Result > kv.NotEqual {
			return fmt.Errorf("%w: condition %d has an unknown target or relation", kv.ErrInvalid, i)
		}
	}
	for _, branch := range [][]kv.Op{req.Then, req.Else} {
		n, err := validateBranch(branch)
		if err != nil {
			return err
		}
		size += n
	}
	if size > MaxTxnBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", kv.ErrTooLarge, size, MaxTxnBytes)
	}
	return nil
}

// validateBranch returns the bytes of a branch. A key may be written once in it: one key has one version a revision.
func validateBranch(ops []kv.Op) (size int, err error) {
	var puts map[string]struct{}
	writes := 0
	for i := range ops {
		op := &ops[i]
		set := 0
		if op.Range != nil {
			set++
			size += len(op.Range.Key)
		}
		if op.Delete != nil {
			set++
			writes++
			size += len(op.Delete.Key)
		}
		if p := op.Put; p != nil {
			set++
			writes++
			size += len(p.Key) + len(p.Value)
			switch {
			case len(p.Key) == 0:
				return 0, fmt.Errorf("%w: operation %d puts an empty key", kv.ErrInvalid, i)
			case len(p.Key) > MaxKeyBytes:
				return 0, fmt.Errorf("%w: operation %d has a key of %d bytes, at most %d", kv.ErrTooLarge, i, len(p.Key), MaxKeyBytes)
			case p.IgnoreValue && len(p.Value) > 0, p.IgnoreLease && p.Lease != 0:
				return 0, fmt.Errorf("%w: operation %d both gives and ignores its value or lease", kv.ErrInvalid, i)
			}
			if len(ops) > 1 {
				if _, dup := puts[string(p.Key)]; dup {
					return 0, fmt.Errorf("%w: key %q is put twice in one transaction", kv.ErrInvalid, p.Key)
				}
				if puts == nil {
					puts = map[string]struct{}{}
				}
				puts[string(p.Key)] = struct{}{}
			}
		}
		if set != 1 {
			return 0, fmt.Errorf("%w: operation %d must be exactly one of range, put and delete", kv.ErrInvalid, i)
		}
	}
	if len(puts) == 0 || writes == len(puts) {
		return size, nil
	}
	for i := range ops {
		d := ops[i].Delete
		if d == nil {
			continue
		}
		for k := range puts {
			if Contains(d.Key, d.End, []byte(k)) {
				return 0, fmt.Errorf("%w: key %q is put and deleted in one transaction", kv.ErrInvalid, k)
			}
		}
	}
	return size, nil
}

// ReadOnly reports whether a transaction reads and writes nothing, whichever branch runs.
func ReadOnly(req *kv.TxnRequest) bool {
	for _, branch := range [2][]kv.Op{req.Then, req.Else} {
		for i := range branch {
			if branch[i].Range == nil {
				return false
			}
		}
	}
	return len(req.Then)+len(req.Else) > 0
}

// Contains reports whether k lies in [key, end), or equals key when end is empty.
func Contains(key, end, k []byte) bool {
	if len(end) == 0 {
		return bytes.Equal(key, k)
	}
	return bytes.Compare(k, key) >= 0 && (noEnd(end) || bytes.Compare(k, end) < 0)
}

// ValidateTTL checks a lease's time to live.
func ValidateTTL(ttl int64) error {
	if ttl < 1 || ttl > MaxTTL {
		return fmt.Errorf("%w: a lease lives for 1 to %d seconds, not %d", kv.ErrInvalid, int64(MaxTTL), ttl)
	}
	return nil
}
