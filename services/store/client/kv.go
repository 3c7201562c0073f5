package client

import (
	"context"
	"errors"
	"io"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/wire"
)

// waitForReady makes a call wait for a member rather than fail while there is none.
var waitForReady = grpc.WaitForReady(true)

// Range implements kv.KV. A read of one key goes with the pipeline, others have a stream of their own: their answers may be
// large, and whichever member serves them takes work off the leader.
func (c *Client) Range(ctx context.Context, req kv.RangeRequest) (out *kv.RangeResponse, err error) {
	if len(req.End) == 0 {
		return c.get(ctx, &req)
	}
	msg := wire.FromRange(&req)
	err = c.call(ctx, true, func(ctx context.Context, _ bool) error {
		out = &kv.RangeResponse{}
		ctx, cancel := context.WithCancel(ctx) // frees the stream when it is left early
		defer cancel()
		stream, err := c.store.Range(ctx, msg, waitForReady)
		if err != nil {
			return err
		}
		for {
			f := &wire.Frame{}
			err := stream.RecvMsg(f)
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := wire.DecodeRangeResponse(f.Data, out); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// get reads one key.
func (c *Client) get(ctx context.Context, req *kv.RangeRequest) (out *kv.RangeResponse, err error) {
	payload := wire.AppendRange(nil, req)
	err = c.call(ctx, true, func(ctx context.Context, _ bool) error {
		answer, err := c.pipe.do(ctx, wire.CallRange, payload)
		if err != nil {
			return err
		}
		out = &kv.RangeResponse{}
		if err := wire.DecodeRangeResponse(answer.Body, out); err != nil {
			return err
		}
		wire.CloneKVs(out.KVs)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Txn implements kv.KV.
func (c *Client) Txn(ctx context.Context, req kv.TxnRequest) (out *kv.TxnResponse, err error) {
	if req.TraceParent == "" {
		req.TraceParent = kv.TraceParent(ctx)
	}
	if err := mvcc.Validate(&req); err != nil { // before a large request goes over the wire
		return nil, err
	}
	if trace.SpanFromContext(ctx).IsRecording() { // in a pipeline no call has a span by itself
		var span trace.Span
		ctx, span = telemetry.Tracer("api").Start(ctx, "orrery.store.v1.StoreService/Txn", trace.WithSpanKind(trace.SpanKindClient))
		defer func() {
			if err != nil {
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
		}()
	}
	payload := wire.AppendTxn(make([]byte, 0, wire.SizeTxn(&req)), &req)
	err = c.call(ctx, false, func(ctx context.Context, _ bool) error {
		answer, err := c.pipe.do(ctx, wire.CallTxn, payload)
		if err != nil {
			return err
		}
		if out, err = wire.DecodeTxnResponse(answer.Body); err != nil {
			return err
		}
		for i := range out.Responses {
			x := &out.Responses[i]
			wire.CloneKVs(x.PrevKVs)
			if x.Range != nil {
				wire.CloneKVs(x.Range.KVs)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Compact implements kv.KV.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	return c.call(ctx, true, func(ctx context.Context, again bool) error {
		_, err := c.store.Compact(ctx, &storev1.CompactRequest{Revision: revision}, waitForReady)
		if again && errors.Is(wire.FromStatus(ctx, err), kv.ErrCompacted) {
			return nil
		}
		return err
	})
}

// Revision implements kv.KV.
func (c *Client) Revision(ctx context.Context) (rev int64, err error) {
	err = c.call(ctx, true, func(ctx context.Context, _ bool) error {
		answer, err := c.pipe.do(ctx, wire.CallRevision, nil)
		if err != nil {
			return err
		}
		rev, err = wire.DecodeRevision(answer.Body)
		return err
	})
	return rev, err
}

// LeaseGrant implements kv.KV. With id 0 a lost answer may leave a lease behind that nobody uses; it ends by itself.
func (c *Client) LeaseGrant(ctx context.Context, id, ttl int64) (l kv.Lease, err error) {
	err = c.call(ctx, id == 0, func(ctx context.Context, _ bool) error {
		resp, err := c.store.LeaseGrant(ctx, &storev1.LeaseGrantRequest{Id: id, TtlSeconds: ttl}, waitForReady)
		l = kv.Lease{ID: resp.GetId(), TTL: resp.GetTtlSeconds(), GrantedTTL: resp.GetTtlSeconds()}
		return err
	})
	return l, err
}

// LeaseRevoke implements kv.KV.
func (c *Client) LeaseRevoke(ctx context.Context, id int64) error {
	return c.call(ctx, true, func(ctx context.Context, again bool) error {
		_, err := c.store.LeaseRevoke(ctx, &storev1.LeaseRevokeRequest{Id: id}, waitForReady)
		if again && errors.Is(wire.FromStatus(ctx, err), kv.ErrLeaseNotFound) {
			return nil
		}
		return err
	})
}

// LeaseKeepAlive implements kv.KV.
func (c *Client) LeaseKeepAlive(ctx context.Context, id int64) (l kv.Lease, err error) {
	err = c.call(ctx, true, func(ctx context.Context, _ bool) error {
		resp, err := c.store.LeaseKeepAlive(ctx, &storev1.LeaseKeepAliveRequest{Id: id}, waitForReady)
		l = kv.Lease{ID: resp.GetId(), TTL: resp.GetTtlSeconds(), GrantedTTL: resp.GetGrantedTtlSeconds()}
		return err
	})
	return l, err
}
