package traffic

import (
	"context"
	"errors"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// callTimeout bounds every call: longer than an election, shorter than a round.
const callTimeout = 5 * time.Second

// Client is a store client whose calls are recorded.
type Client struct {
	// Name tells clients apart in the record.
	Name  string
	kv    kv.KV
	clock history.Clock
	rec   *history.Recorder
}

// NewClient records the calls to k.
func NewClient(name string, k kv.KV, clock history.Clock, rec *history.Recorder) *Client {
	return &Client{Name: name, kv: k, clock: clock, rec: rec}
}

// do makes one call and records it. f fills in the answer.
func (c *Client) do(ctx context.Context, o *history.Op, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	o.Client, o.Call = c.Name, c.clock.Now()
	err := f(ctx)
	o.Return = c.clock.Now()
	o.Outcome = outcome(err)
	if err != nil {
		o.Error = err.Error()
	}
	c.rec.Op(o)
	return err
}

// outcome tells what certainly did not happen from what nobody knows.
func outcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case errors.Is(err, kv.ErrOutcomeUnknown), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return history.Unknown
	}
	for _, certain := range []error{kv.ErrNoLeader, kv.ErrNoSpace, kv.ErrTooLarge, kv.ErrInvalid, kv.ErrLeaseNotFound, kv.ErrKeyNotFound, kv.ErrCompacted, kv.ErrFutureRevision} {
		if errors.Is(err, certain) {
			return history.Failed
		}
	}
	return history.Unknown
}

// write is a transaction on one key that goes through when its mod revision is expect, and reads it otherwise.
func (c *Client) write(ctx context.Context, o *history.Op) error {
	key := []byte(o.Keys[0])
	op := kv.Op{Put: &kv.PutRequest{Key: key, Value: history.Value(o.Value), Lease: o.Lease, PrevKV: o.HasPrev}}
	if o.Kind == history.Delete {
		op = kv.Op{Delete: &kv.DeleteRequest{Key: key, PrevKV: o.HasPrev}}
	}
	req := kv.TxnRequest{
		Compare: []kv.Compare{{Key: key, Target: kv.CompareMod, Result: kv.Equal, Number: o.Expect}},
		Then:    []kv.Op{op},
		Else:    []kv.Op{{Range: &kv.RangeRequest{Key: key}}},
	}
	return c.do(ctx, o, func(ctx context.Context) error {
		resp, err := c.kv.Txn(ctx, req)
		if err != nil {
			return err
		}
		o.Header, o.Succeeded = resp.Revision, resp.Succeeded
		if !resp.Succeeded {
			o.Read = Versions(resp.Responses[0].Range.KVs)
		} else if o.HasPrev {
			o.Prev = Versions(resp.Responses[0].PrevKVs)
		}
		return nil
	})
}

// put writes all keys at once.
func (c *Client) put(ctx context.Context, o *history.Op) error {
	var req kv.TxnRequest
	for _, key := range o.Keys {
		req.Then = append(req.Then, kv.Op{Put: &kv.PutRequest{Key: []byte(key), Value: history.Value(o.Value), Lease: o.Lease, PrevKV: o.HasPrev}})
	}
	return c.do(ctx, o, func(ctx context.Context) error {
		resp, err := c.kv.Txn(ctx, req)
		if err != nil {
			return err
		}
		o.Header = resp.Revision
		for _, r := range resp.Responses {
			o.Prev = append(o.Prev, Versions(r.PrevKVs)...)
		}
		return nil
	})
}

// get reads one key.
func (c *Client) get(ctx context.Context, o *history.Op) error {
	req := kv.RangeRequest{Key: []byte(o.Keys[0]), Revision: o.Revision, Serializable: o.Serializable}
	return c.do(ctx, o, func(ctx context.Context) error {
		resp, err := c.kv.Range(ctx, req)
		if err != nil {
			return err
		}
		o.Header, o.Read = resp.Revision, Versions(resp.KVs)
		return nil
	})
}

// list reads the keys of a prefix, after a key when the operation has one.
func (c *Client) list(ctx context.Context, o *history.Op) error {
	req := kv.RangeRequest{Key: []byte(o.Prefix), End: kv.PrefixEnd([]byte(o.Prefix)), Revision: o.Revision, Limit: o.Limit, Serializable: o.Serializable}
	if o.After != "" {
		req.Key = append([]byte(o.After), 0)
	}
	return c.do(ctx, o, func(ctx context.Context) error {
		resp, err := c.kv.Range(ctx, req)
		if err != nil {
			return err
		}
		o.Header, o.Read, o.Count, o.More = resp.Revision, Versions(resp.KVs), resp.Count, resp.More
		return nil
	})
}

// Versions are the keys of an answer as they are recorded.
func Versions(kvs []kv.KeyValue) []history.KV {
	out := make([]history.KV, 0, len(kvs))
	for i := range kvs {
		out = append(out, version(&kvs[i]))
	}
	return out
}

func version(v *kv.KeyValue) history.KV {
	return history.KV{Key: string(v.Key), Value: history.Name(v.Value), Create: v.CreateRevision, Mod: v.ModRevision, Version: v.Version, Lease: v.Lease}
}
