package wire

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/orrery-io/orrery/services/store/kv"
)

// errMalformed is wrapped by what is said about bytes that are not a message.
var errMalformed = errors.New("not a message of the store's protocol")

// reader goes through the fields of a message; what they hold shares memory with it.
type reader struct {
	rest []byte
	num  protowire.Number
	typ  protowire.Type
	// u is the value of a number, data that of bytes, strings and messages.
	u    uint64
	data []byte
	err  error
}

// next reads a field and reports whether there was one; afterwards err says whether the end was a good one.
func (r *reader) next() bool {
	if len(r.rest) == 0 || r.err != nil {
		return false
	}
	var n int
	if c := r.rest[0]; c < 0x80 && c >= 8 { // a tag of one byte: all that this protocol has
		r.num, r.typ, n = protowire.Number(c>>3), protowire.Type(c&7), 1
	} else if r.num, r.typ, n = protowire.ConsumeTag(r.rest); n < 0 {
		r.err = fmt.Errorf("%w: %w", errMalformed, protowire.ParseError(n))
		return false
	}
	r.rest = r.rest[n:]
	switch r.typ {
	case protowire.VarintType:
		r.u, n = protowire.ConsumeVarint(r.rest)
	case protowire.BytesType:
		r.data, n = protowire.ConsumeBytes(r.rest)
	default:
		n = protowire.ConsumeFieldValue(r.num, r.typ, r.rest)
	}
	if n < 0 {
		r.err = fmt.Errorf("%w: field %d: %w", errMalformed, r.num, protowire.ParseError(n))
		return false
	}
	r.rest = r.rest[n:]
	return true
}

// is reports whether the present field is num and of type bytes; number the same for numbers.
func (r *reader) is(num protowire.Number) bool { return r.num == num && r.typ == protowire.BytesType }

func (r *reader) number(num protowire.Number) bool {
	return r.num == num && r.typ == protowire.VarintType
}

// optional is the present field's bytes, never nil: that would mean absent. Their capacity is their length.
func (r *reader) optional() []byte {
	if r.data == nil {
		return []byte{}
	}
	return r.data[:len(r.data):len(r.data)]
}

// ConsumeMessages calls fn with the number and the bytes of each field of a message that is itself a message, string or
// bytes. Everything shares memory with b.
func ConsumeMessages(b []byte, fn func(num protowire.Number, data []byte) error) error {
	r := reader{rest: b}
	for r.next() {
		if r.typ == protowire.BytesType {
			if err := fn(r.num, r.data); err != nil {
				return err
			}
		}
	}
	return r.err
}

// TxnDecoder reads transactions. What it returns is overwritten by the next call and shares memory with the bytes that
// were read; the trace parent alone is a copy.
type TxnDecoder struct {
	req      kv.TxnRequest
	puts     []kv.PutRequest
	deletes  []kv.DeleteRequest
	ranges   []kv.RangeRequest
	branches [2][]kv.Op
}

// Decode reads a TxnRequest. Values that this version does not know become ones that mvcc.Validate refuses.
func (d *TxnDecoder) Decode(b []byte) (*kv.TxnRequest, error) {
	d.req.Compare, d.req.TraceParent = d.req.Compare[:0], ""
	d.puts, d.deletes, d.ranges = d.puts[:0], d.deletes[:0], d.ranges[:0]
	d.branches[0], d.branches[1] = d.branches[0][:0], d.branches[1][:0]
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(txnCompare):
			d.req.Compare = append(d.req.Compare, kv.Compare{})
			if err := decodeCompare(r.data, &d.req.Compare[len(d.req.Compare)-1]); err != nil {
				return nil, err
			}
		case r.is(txnThen), r.is(txnElse):
			branch := &d.branches[r.num-txnThen]
			*branch = append(*branch, kv.Op{})
			if err := d.op(r.data, &(*branch)[len(*branch)-1]); err != nil {
				return nil, err
			}
		case r.is(txnTrace):
			d.req.TraceParent = string(r.data)
		}
	}
	d.req.Then, d.req.Else = d.branches[0], d.branches[1]
	return &d.req, r.err
}

// DecodeTxn reads a TxnRequest; it shares memory with b.
func DecodeTxn(b []byte) (*kv.TxnRequest, error) {
	// One allocation for the shape that most transactions have.
	block := &struct {
		d       TxnDecoder
		compare [1]kv.Compare
		put     [1]kv.PutRequest
		then    [1]kv.Op
	}{}
	block.d.req.Compare, block.d.puts, block.d.branches[0] = block.compare[:0], block.put[:0], block.then[:0]
	return block.d.Decode(b)
}

func (d *TxnDecoder) op(b []byte, op *kv.Op) error {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(opRange):
			d.ranges = append(d.ranges, kv.RangeRequest{})
			*op = kv.Op{Range: &d.ranges[len(d.ranges)-1]}
			if err := decodeRange(r.data, op.Range); err != nil {
				return err
			}
		case r.is(opPut):
			d.puts = append(d.puts, kv.PutRequest{})
			*op = kv.Op{Put: &d.puts[len(d.puts)-1]}
			if err := decodePut(r.data, op.Put); err != nil {
				return err
			}
		case r.is(opDelete):
			d.deletes = append(d.deletes, kv.DeleteRequest{})
			*op = kv.Op{Delete: &d.deletes[len(d.deletes)-1]}
			if err := decodeDelete(r.data, op.Delete); err != nil {
				return err
			}
		}
	}
	return r.err
}

func decodeCompare(b []byte, c *kv.Compare) error {
	c.Target, c.Result = -1, -1
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(compareKey):
			c.Key = r.data
		case r.is(compareEnd):
			c.End = r.optional()
		case r.number(compareTarget):
			c.Target = kv.CompareTarget(int32(r.u) - 1)
		case r.number(compareResult):
			c.Result = kv.CompareResult(int32(r.u) - 1)
		case r.number(compareNumber):
			c.Number = int64(r.u)
		case r.is(compareValue):
			c.Value = r.data
		}
	}
	return r.err
}

func decodePut(b []byte, p *kv.PutRequest) error {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(putKey):
			p.Key = r.data
		case r.is(putValue):
			p.Value = r.data
		case r.number(putLease):
			p.Lease = int64(r.u)
		case r.number(putPrevKV):
			p.PrevKV = r.u != 0
		case r.number(putIgnoreValue):
			p.IgnoreValue = r.u != 0
		case r.number(putIgnoreLease):
			p.IgnoreLease = r.u != 0
		}
	}
	return r.err
}

func decodeDelete(b []byte, d *kv.DeleteRequest) error {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(deleteKey):
			d.Key = r.data
		case r.is(deleteEnd):
			d.End = r.optional()
		case r.number(deletePrevKV):
			d.PrevKV = r.u != 0
		}
	}
	return r.err
}

// DecodeRange reads a RangeRequest; it shares memory with b.
func DecodeRange(b []byte) (*kv.RangeRequest, error) {
	out := &kv.RangeRequest{}
	return out, decodeRange(b, out)
}

func decodeRange(b []byte, out *kv.RangeRequest) error {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(rangeKey):
			out.Key = r.data
		case r.is(rangeEnd):
			out.End = r.optional()
		case r.number(rangeRevision):
			out.Revision = int64(r.u)
		case r.number(rangeLimit):
			out.Limit = int64(r.u)
		case r.number(rangeCountOnly):
			out.CountOnly = r.u != 0
		case r.number(rangeKeysOnly):
			out.KeysOnly = r.u != 0
		case r.number(rangeSerializable):
			out.Serializable = r.u != 0
		}
	}
	return r.err
}

func decodeKV(b []byte, x *kv.KeyValue) error {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(kvKey):
			x.Key = r.data[:len(r.data):len(r.data)]
		case r.is(kvValue):
			x.Value = r.data[:len(r.data):len(r.data)]
		case r.number(kvCreate):
			x.CreateRevision = int64(r.u)
		case r.number(kvMod):
			x.ModRevision = int64(r.u)
		case r.number(kvVersion):
			x.Version = int64(r.u)
		case r.number(kvLease):
			x.Lease = int64(r.u)
		case r.is(kvTrace):
			x.TraceParent = string(r.data)
		}
	}
	return r.err
}

// DecodeRangeResponse adds one part of a RangeResponse to out: its keys are appended, everything else is set. The keys and
// values share memory with b.
func DecodeRangeResponse(b []byte, out *kv.RangeResponse) error {
	out.Revision, out.Count, out.More = 0, 0, false
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.number(rangedRevision):
			out.Revision = int64(r.u)
		case r.is(rangedKVs):
			out.KVs = append(out.KVs, kv.KeyValue{})
			if err := decodeKV(r.data, &out.KVs[len(out.KVs)-1]); err != nil {
				return err
			}
		case r.number(rangedCount):
			out.Count = int64(r.u)
		case r.number(rangedMore):
			out.More = r.u != 0
		}
	}
	return r.err
}

// DecodeTxnResponse reads a TxnResponse; it shares memory with b.
func DecodeTxnResponse(b []byte) (*kv.TxnResponse, error) {
	block := &struct {
		resp kv.TxnResponse
		one  [1]kv.OpResponse
	}{}
	out := &block.resp
	out.Responses = block.one[:0]
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.number(txnedRevision):
			out.Revision = int64(r.u)
		case r.number(txnedSucceeded):
			out.Succeeded = r.u != 0
		case r.is(txnedResponses):
			out.Responses = append(out.Responses, kv.OpResponse{})
			if err := decodeOpResponse(r.data, &out.Responses[len(out.Responses)-1]); err != nil {
				return nil, err
			}
		}
	}
	if len(out.Responses) == 0 {
		out.Responses = nil
	}
	return out, r.err
}

func decodeOpResponse(b []byte, x *kv.OpResponse) error {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(opedRange):
			x.Range = &kv.RangeResponse{}
			if err := DecodeRangeResponse(r.data, x.Range); err != nil {
				return err
			}
		case r.is(opedPrevKVs):
			x.PrevKVs = append(x.PrevKVs, kv.KeyValue{})
			if err := decodeKV(r.data, &x.PrevKVs[len(x.PrevKVs)-1]); err != nil {
				return err
			}
		case r.number(opedDeleted):
			x.Deleted = int64(r.u)
		}
	}
	return r.err
}

// WatchMessage is what a WatchResponse has beside its events.
type WatchMessage struct {
	Revision          int64
	Created, Fragment bool
}

// DecodeWatchResponse reads a WatchResponse and appends its events to events; they share memory with b.
func DecodeWatchResponse(b []byte, events []kv.Event) (m WatchMessage, _ []kv.Event, err error) {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.number(watchedRevision):
			m.Revision = int64(r.u)
		case r.number(watchedCreated):
			m.Created = r.u != 0
		case r.number(watchedFragment):
			m.Fragment = r.u != 0
		case r.is(watchedEvents):
			if len(events) == cap(events) {
				events = slices.Grow(events, 1+countFields(r.rest, watchedEvents))
			}
			events = append(events, kv.Event{})
			if err := decodeEvent(r.data, &events[len(events)-1]); err != nil {
				return m, events, err
			}
		}
	}
	return m, events, r.err
}

// countFields counts the fields that b begins with as long as they are num, bytes.
func countFields(b []byte, num protowire.Number) (n int) {
	for r := (reader{rest: b}); r.next() && r.is(num); {
		n++
	}
	return n
}

func decodeEvent(b []byte, e *kv.Event) error {
	e.Type = -1
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.number(eventType):
			e.Type = kv.EventType(int32(r.u) - 1)
		case r.is(eventKV):
			if err := decodeKV(r.data, &e.KV); err != nil {
				return err
			}
		case r.is(eventPrevKV):
			e.PrevKV = &kv.KeyValue{}
			if err := decodeKV(r.data, e.PrevKV); err != nil {
				return err
			}
		}
	}
	return r.err
}

// CloneKVs gives keys and values memory of their own, so that they do not keep alive what they were read from.
func CloneKVs(kvs []kv.KeyValue) {
	for i := range kvs {
		cloneKV(&kvs[i])
	}
}

// CloneEvents does the same for events.
func CloneEvents(events []kv.Event) {
	for i := range events {
		cloneKV(&events[i].KV)
		if p := events[i].PrevKV; p != nil {
			cloneKV(p)
		}
	}
}

// cloneKV puts key and value into one piece of memory.
func cloneKV(x *kv.KeyValue) {
	n := len(x.Key)
	block := join(x.Key, x.Value)
	if x.Key != nil {
		x.Key = block[:n:n]
	}
	if x.Value != nil {
		x.Value = block[n:]
	}
}
