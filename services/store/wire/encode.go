package wire

import (
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/orrery-io/orrery/services/store/kv"
)

// The functions of this file write messages of proto/orrery/store/v1 straight from the types of package kv, for the paths where a
// generated message in between would be most of the work. What they write is what the generated code would.

// Number of each field that is written or read by hand.
const (
	kvKey, kvValue, kvCreate, kvMod, kvVersion, kvLease, kvTrace = 1, 2, 3, 4, 5, 6, 7

	rangeKey, rangeEnd, rangeRevision, rangeLimit, rangeCountOnly, rangeKeysOnly, rangeSerializable = 1, 2, 3, 4, 5, 6, 7
	rangedRevision, rangedKVs, rangedCount, rangedMore                                              = 1, 2, 3, 4

	txnCompare, txnThen, txnElse, txnTrace                                            = 1, 2, 3, 4
	txnedRevision, txnedSucceeded, txnedResponses                                     = 1, 2, 3
	compareKey, compareEnd, compareTarget, compareResult, compareNumber, compareValue = 1, 2, 3, 4, 5, 6
	opRange, opPut, opDelete                                                          = 1, 2, 3
	putKey, putValue, putLease, putPrevKV, putIgnoreValue, putIgnoreLease             = 1, 2, 3, 4, 5, 6
	deleteKey, deleteEnd, deletePrevKV                                                = 1, 2, 3
	opedRange, opedPrevKVs, opedDeleted                                               = 1, 2, 3

	eventType, eventKV, eventPrevKV                                 = 1, 2, 3
	watchedRevision, watchedEvents, watchedCreated, watchedFragment = 1, 2, 3, 4
)

// All field numbers are below 16: a tag is one byte.

func appendInt(b []byte, field int, v int64) []byte {
	if v == 0 {
		return b
	}
	b = append(b, byte(field<<3|int(protowire.VarintType)))
	return protowire.AppendVarint(b, uint64(v))
}

func appendBool(b []byte, field int, v bool) []byte {
	if !v {
		return b
	}
	return append(b, byte(field<<3|int(protowire.VarintType)), 1)
}

// appendHead begins a field of n bytes.
func appendHead(b []byte, field, n int) []byte {
	b = append(b, byte(field<<3|int(protowire.BytesType)))
	return protowire.AppendVarint(b, uint64(n))
}

func appendBytes(b []byte, field int, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return append(appendHead(b, field, len(v)), v...)
}

// appendOptional writes a field that tells absent from empty.
func appendOptional(b []byte, field int, v []byte) []byte {
	if v == nil {
		return b
	}
	return append(appendHead(b, field, len(v)), v...)
}

func appendString(b []byte, field int, v string) []byte {
	if v == "" {
		return b
	}
	return append(appendHead(b, field, len(v)), v...)
}

func sizeVarint(v uint64) int { return int(9*uint32(bits.Len64(v|1))+64) / 64 }

func sizeInt(v int64) int {
	if v == 0 {
		return 0
	}
	return 1 + sizeVarint(uint64(v))
}

func sizeBool(v bool) int {
	if !v {
		return 0
	}
	return 2
}

// sizeField is the size of a field of n bytes.
func sizeField(n int) int { return 1 + sizeVarint(uint64(n)) + n }

func sizeBytes(n int) int {
	if n == 0 {
		return 0
	}
	return sizeField(n)
}

func sizeOptional(v []byte) int {
	if v == nil {
		return 0
	}
	return sizeField(len(v))
}

func sizeKV(x *kv.KeyValue) int {
	return sizeBytes(len(x.Key)) + sizeBytes(len(x.Value)) + sizeInt(x.CreateRevision) + sizeInt(x.ModRevision) + sizeInt(x.Version) +
		sizeInt(x.Lease) + sizeBytes(len(x.TraceParent))
}

// appendKV writes a KeyValue as a field.
func appendKV(b []byte, field int, x *kv.KeyValue) []byte {
	b = appendHead(b, field, sizeKV(x))
	b = appendBytes(b, kvKey, x.Key)
	b = appendBytes(b, kvValue, x.Value)
	b = appendInt(b, kvCreate, x.CreateRevision)
	b = appendInt(b, kvMod, x.ModRevision)
	b = appendInt(b, kvVersion, x.Version)
	b = appendInt(b, kvLease, x.Lease)
	return appendString(b, kvTrace, x.TraceParent)
}

func sizeKVs(kvs []kv.KeyValue) (n int) {
	for i := range kvs {
		n += sizeField(sizeKV(&kvs[i]))
	}
	return n
}

// AppendRange writes a RangeRequest.
func AppendRange(b []byte, r *kv.RangeRequest) []byte {
	b = appendBytes(b, rangeKey, r.Key)
	b = appendOptional(b, rangeEnd, r.End)
	b = appendInt(b, rangeRevision, r.Revision)
	b = appendInt(b, rangeLimit, r.Limit)
	b = appendBool(b, rangeCountOnly, r.CountOnly)
	b = appendBool(b, rangeKeysOnly, r.KeysOnly)
	return appendBool(b, rangeSerializable, r.Serializable)
}

func sizeRange(r *kv.RangeRequest) int {
	return sizeBytes(len(r.Key)) + sizeOptional(r.End) + sizeInt(r.Revision) + sizeInt(r.Limit) + sizeBool(r.CountOnly) + sizeBool(r.KeysOnly) +
		sizeBool(r.Serializable)
}

// AppendRangeResponse writes a RangeResponse.
func AppendRangeResponse(b []byte, r *kv.RangeResponse) []byte {
	b = appendInt(b, rangedRevision, r.Revision)
	for i := range r.KVs {
		b = appendKV(b, rangedKVs, &r.KVs[i])
	}
	b = appendInt(b, rangedCount, r.Count)
	return appendBool(b, rangedMore, r.More)
}

func sizeRangeResponse(r *kv.RangeResponse) int {
	return sizeInt(r.Revision) + sizeKVs(r.KVs) + sizeInt(r.Count) + sizeBool(r.More)
}

// AppendRangeKV writes one of the kvs of a RangeResponse alone: messages are joined by writing one after the other.
func AppendRangeKV(b []byte, x *kv.KeyValue) []byte { return appendKV(b, rangedKVs, x) }

// AppendTxn writes a TxnRequest.
func AppendTxn(b []byte, r *kv.TxnRequest) []byte {
	for i := range r.Compare {
		c := &r.Compare[i]
		b = appendHead(b, txnCompare, sizeCompare(c))
		b = appendBytes(b, compareKey, c.Key)
		b = appendOptional(b, compareEnd, c.End)
		b = appendInt(b, compareTarget, int64(c.Target+1))
		b = appendInt(b, compareResult, int64(c.Result+1))
		b = appendInt(b, compareNumber, c.Number)
		b = appendBytes(b, compareValue, c.Value)
	}
	for i := range r.Then {
		b = appendOp(b, txnThen, &r.Then[i])
	}
	for i := range r.Else {
		b = appendOp(b, txnElse, &r.Else[i])
	}
	return appendString(b, txnTrace, r.TraceParent)
}

// SizeTxn is the number of bytes that AppendTxn writes.
func SizeTxn(r *kv.TxnRequest) int {
	n := sizeBytes(len(r.TraceParent))
	for i := range r.Compare {
		n += sizeField(sizeCompare(&r.Compare[i]))
	}
	for _, ops := range [2][]kv.Op{r.Then, r.Else} {
		for i := range ops {
			n += sizeField(sizeOp(&ops[i]))
		}
	}
	return n
}

func sizeCompare(c *kv.Compare) int {
	return sizeBytes(len(c.Key)) + sizeOptional(c.End) + sizeInt(int64(c.Target+1)) + sizeInt(int64(c.Result+1)) + sizeInt(c.Number) + sizeBytes(len(c.Value))
}

func sizePut(p *kv.PutRequest) int {
	return sizeBytes(len(p.Key)) + sizeBytes(len(p.Value)) + sizeInt(p.Lease) + sizeBool(p.PrevKV) + sizeBool(p.IgnoreValue) + sizeBool(p.IgnoreLease)
}

func sizeDelete(d *kv.DeleteRequest) int {
	return sizeBytes(len(d.Key)) + sizeOptional(d.End) + sizeBool(d.PrevKV)
}

func sizeOp(op *kv.Op) int {
	switch {
	case op.Range != nil:
		return sizeField(sizeRange(op.Range))
	case op.Put != nil:
		return sizeField(sizePut(op.Put))
	case op.Delete != nil:
		return sizeField(sizeDelete(op.Delete))
	}
	return 0
}

func appendOp(b []byte, field int, op *kv.Op) []byte {
	b = appendHead(b, field, sizeOp(op))
	switch {
	case op.Range != nil:
		b = appendHead(b, opRange, sizeRange(op.Range))
		return AppendRange(b, op.Range)
	case op.Put != nil:
		p := op.Put
		b = appendHead(b, opPut, sizePut(p))
		b = appendBytes(b, putKey, p.Key)
		b = appendBytes(b, putValue, p.Value)
		b = appendInt(b, putLease, p.Lease)
		b = appendBool(b, putPrevKV, p.PrevKV)
		b = appendBool(b, putIgnoreValue, p.IgnoreValue)
		b = appendBool(b, putIgnoreLease, p.IgnoreLease)
	case op.Delete != nil:
		d := op.Delete
		b = appendHead(b, opDelete, sizeDelete(d))
		b = appendBytes(b, deleteKey, d.Key)
		b = appendOptional(b, deleteEnd, d.End)
		b = appendBool(b, deletePrevKV, d.PrevKV)
	}
	return b
}

// AppendTxnResponse writes a TxnResponse.
func AppendTxnResponse(b []byte, r *kv.TxnResponse) []byte {
	b = appendInt(b, txnedRevision, r.Revision)
	b = appendBool(b, txnedSucceeded, r.Succeeded)
	for i := range r.Responses {
		x := &r.Responses[i]
		b = appendHead(b, txnedResponses, sizeOpResponse(x))
		if x.Range != nil {
			b = appendHead(b, opedRange, sizeRangeResponse(x.Range))
			b = AppendRangeResponse(b, x.Range)
		}
		for k := range x.PrevKVs {
			b = appendKV(b, opedPrevKVs, &x.PrevKVs[k])
		}
		b = appendInt(b, opedDeleted, x.Deleted)
	}
	return b
}

// SizeTxnResponse is the number of bytes that AppendTxnResponse writes.
func SizeTxnResponse(r *kv.TxnResponse) int {
	n := sizeInt(r.Revision) + sizeBool(r.Succeeded)
	for i := range r.Responses {
		n += sizeField(sizeOpResponse(&r.Responses[i]))
	}
	return n
}

func sizeOpResponse(x *kv.OpResponse) int {
	n := sizeKVs(x.PrevKVs) + sizeInt(x.Deleted)
	if x.Range != nil {
		n += sizeField(sizeRangeResponse(x.Range))
	}
	return n
}

// AppendEvent writes an Event as one more of the events of a WatchResponse.
func AppendEvent(b []byte, e *kv.Event) []byte {
	n := sizeInt(int64(e.Type+1)) + sizeField(sizeKV(&e.KV))
	if e.PrevKV != nil {
		n += sizeField(sizeKV(e.PrevKV))
	}
	b = appendHead(b, watchedEvents, n)
	b = appendInt(b, eventType, int64(e.Type+1))
	b = appendKV(b, eventKV, &e.KV)
	if e.PrevKV != nil {
		b = appendKV(b, eventPrevKV, e.PrevKV)
	}
	return b
}

// SizeEvent is the number of bytes that AppendEvent writes.
func SizeEvent(e *kv.Event) int {
	n := sizeInt(int64(e.Type+1)) + sizeField(sizeKV(&e.KV))
	if e.PrevKV != nil {
		n += sizeField(sizeKV(e.PrevKV))
	}
	return sizeField(n)
}

// AppendWatchHead writes what a WatchResponse has beside its events.
func AppendWatchHead(b []byte, revision int64, fragment bool) []byte {
	b = appendInt(b, watchedRevision, revision)
	return appendBool(b, watchedFragment, fragment)
}
