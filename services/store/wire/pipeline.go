package wire

import (
	"fmt"
	"iter"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	spb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
)

// CallKind is what a call of a pipeline asks for, and the number of its field in PipelineCall and, for the answer, in
// PipelineAnswer.
type CallKind int

// Kinds of calls; an answer may also be a Failure.
const (
	CallTxn      CallKind = 2
	CallRange    CallKind = 3
	CallRevision CallKind = 4
	Failure      CallKind = 5
)

// Fields of PipelineRequest, PipelineCall, PipelineResponse and PipelineAnswer.
const (
	pipedItems, pipedRole, pipedDrain = 1, 2, 3
	itemID                            = 1
	revisionRevision                  = 1
)

// Item is a call or an answer: Body is the encoded request or response.
type Item struct {
	ID   uint64
	Kind CallKind
	Body []byte
}

// AppendItem adds a call to a PipelineRequest, or an answer to a PipelineResponse.
func AppendItem(b []byte, id uint64, kind CallKind, body []byte) []byte {
	return append(appendItemHead(b, id, kind, len(body)), body...)
}

// appendItemHead writes everything but a body of n bytes.
func appendItemHead(b []byte, id uint64, kind CallKind, n int) []byte {
	b = appendHead(b, pipedItems, sizeInt(int64(id))+sizeField(n))
	b = appendInt(b, itemID, int64(id))
	return appendHead(b, int(kind), n)
}

// AppendTxnAnswer adds the result of a transaction to a PipelineResponse.
func AppendTxnAnswer(b []byte, id uint64, r *kv.TxnResponse) []byte {
	return AppendTxnResponse(appendItemHead(b, id, CallTxn, SizeTxnResponse(r)), r)
}

// AppendRangeAnswer adds the result of a read to a PipelineResponse.
func AppendRangeAnswer(b []byte, id uint64, r *kv.RangeResponse) []byte {
	return AppendRangeResponse(appendItemHead(b, id, CallRange, sizeRangeResponse(r)), r)
}

// AppendRevisionAnswer adds a revision to a PipelineResponse.
func AppendRevisionAnswer(b []byte, id uint64, rev int64) []byte {
	return appendInt(appendItemHead(b, id, CallRevision, sizeInt(rev)), revisionRevision, rev)
}

// AppendFailure adds an error, as its status, to a PipelineResponse.
func AppendFailure(b []byte, id uint64, err error) []byte {
	s, _ := status.FromError(ToStatus(err))
	body, merr := proto.Marshal(s.Proto())
	if merr != nil { // a text that is not UTF-8
		body, _ = proto.Marshal(&spb.Status{Code: int32(s.Code()), Message: "an error that cannot be shown"})
	}
	return AppendItem(b, id, Failure, body)
}

// AppendRole adds to a PipelineResponse what this member is.
func AppendRole(b []byte, leads bool) []byte {
	role := int64(2)
	if leads {
		role = 1
	}
	return appendInt(b, pipedRole, role)
}

// AppendDrain adds to a PipelineResponse that this member is about to stop.
func AppendDrain(b []byte) []byte { return appendBool(b, pipedDrain, true) }

// Calls goes through the calls of a PipelineRequest; bodies share memory with it. A message that is malformed ends with an
// error.
func Calls(b []byte) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		r := reader{rest: b}
		for r.next() {
			if !r.is(pipedItems) {
				continue
			}
			item, err := decodeItem(r.data)
			if !yield(item, err) || err != nil {
				return
			}
		}
		if r.err != nil {
			yield(Item{}, r.err)
		}
	}
}

// Answers is a PipelineResponse.
type Answers struct {
	Items []Item
	// RoleKnown says that Leads is told.
	RoleKnown, Leads, Drain bool
}

// Decode reads a PipelineResponse; bodies share memory with it. The items are appended to those that a has.
func (a *Answers) Decode(b []byte) error {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.is(pipedItems):
			item, err := decodeItem(r.data)
			if err != nil {
				return err
			}
			a.Items = append(a.Items, item)
		case r.number(pipedRole):
			a.RoleKnown, a.Leads = true, r.u == 1
		case r.number(pipedDrain):
			a.Drain = r.u != 0
		}
	}
	return r.err
}

func decodeItem(b []byte) (item Item, err error) {
	r := reader{rest: b}
	for r.next() {
		switch {
		case r.number(itemID):
			item.ID = r.u
		case r.typ == protowire.BytesType:
			item.Kind, item.Body = CallKind(r.num), r.data
		}
	}
	return item, r.err
}

// DecodeRevision reads a RevisionResponse.
func DecodeRevision(b []byte) (rev int64, err error) {
	r := reader{rest: b}
	for r.next() {
		if r.number(revisionRevision) {
			rev = int64(r.u)
		}
	}
	return rev, r.err
}

// Err is the error that an answer stands for, nil when it is no Failure; want is the kind that was asked for.
func (i *Item) Err(want CallKind) error {
	switch i.Kind {
	case want:
		return nil
	case Failure:
		s := &spb.Status{}
		if err := proto.Unmarshal(i.Body, s); err != nil {
			return fmt.Errorf("%w: %w", errMalformed, err)
		}
		return status.ErrorProto(s)
	}
	return status.Errorf(codes.Internal, "the store answered a call of kind %d with one of kind %d", want, i.Kind)
}
