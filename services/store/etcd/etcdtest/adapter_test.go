package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
)

// adapter is the store as a kv.KV through etcd's client library.
type adapter struct{ c *clientv3.Client }

var _ kv.KV = adapter{}

func failed(err error) error {
	for from, to := range map[error]error{
		rpctypes.ErrCompacted: kv.ErrCompacted, rpctypes.ErrFutureRev: kv.ErrFutureRevision, rpctypes.ErrNoSpace: kv.ErrNoSpace,
		rpctypes.ErrRequestTooLarge: kv.ErrTooLarge, rpctypes.ErrLeaseNotFound: kv.ErrLeaseNotFound, rpctypes.ErrLeaseExist: kv.ErrLeaseExists,
		rpctypes.ErrKeyNotFound: kv.ErrKeyNotFound,
	} {
		if errors.Is(err, from) {
			return fmt.Errorf("%w (%w)", to, err)
		}
	}
	var e rpctypes.EtcdError
	if status.Code(err) == codes.InvalidArgument || (errors.As(err, &e) && e.Code() == codes.InvalidArgument) {
		return fmt.Errorf("%w (%w)", kv.ErrInvalid, err)
	}
	return err
}

func rangeOp(r *kv.RangeRequest) clientv3.Op {
	key := string(r.Key)
	if key == "" {
		key = "\x00"
	}
	opts := []clientv3.OpOption{clientv3.WithRev(r.Revision), clientv3.WithLimit(r.Limit)}
	if len(r.End) > 0 {
		opts = append(opts, clientv3.WithRange(string(r.End)))
	}
	if r.CountOnly {
		opts = append(opts, clientv3.WithCountOnly())
	}
	if r.KeysOnly {
		opts = append(opts, clientv3.WithKeysOnly())
	}
	if r.Serializable {
		opts = append(opts, clientv3.WithSerializable())
	}
	return clientv3.OpGet(key, opts...)
}

func toKVs(from []*mvccpb.KeyValue) (out []kv.KeyValue) {
	for _, x := range from {
		out = append(out, toKV(x))
	}
	return out
}

func toKV(x *mvccpb.KeyValue) kv.KeyValue {
	return kv.KeyValue{Key: x.Key, Value: x.Value, CreateRevision: x.CreateRevision, ModRevision: x.ModRevision, Version: x.Version, Lease: x.Lease}
}

func rangeResult(r *kv.RangeRequest, resp *pb.RangeResponse) *kv.RangeResponse {
	out := &kv.RangeResponse{Revision: resp.Header.Revision, KVs: toKVs(resp.Kvs), Count: resp.Count, More: resp.More}
	if r.Revision != 0 {
		out.Revision = r.Revision
	}
	return out
}

func (a adapter) Range(ctx context.Context, r kv.RangeRequest) (*kv.RangeResponse, error) {
	resp, err := a.c.Do(ctx, rangeOp(&r))
	if err != nil {
		return nil, failed(err)
	}
	return rangeResult(&r, (*pb.RangeResponse)(resp.Get())), nil
}

func (a adapter) Revision(ctx context.Context) (int64, error) {
	resp, err := a.c.Get(ctx, "\x00", clientv3.WithCountOnly())
	if err != nil {
		return 0, failed(err)
	}
	return resp.Header.Revision, nil
}

func ops(from []kv.Op) (out []clientv3.Op, err error) {
	for _, op := range from {
		switch {
		case op.Range != nil:
			out = append(out, rangeOp(op.Range))
		case op.Put != nil:
			p := op.Put
			opts := []clientv3.OpOption{clientv3.WithLease(clientv3.LeaseID(p.Lease))}
			for on, opt := range map[*bool]clientv3.OpOption{&p.PrevKV: clientv3.WithPrevKV(), &p.IgnoreValue: clientv3.WithIgnoreValue(), &p.IgnoreLease: clientv3.WithIgnoreLease()} {
				if *on {
					opts = append(opts, opt)
				}
			}
			out = append(out, clientv3.OpPut(string(p.Key), string(p.Value), opts...))
		case op.Delete != nil:
			var opts []clientv3.OpOption
			if len(op.Delete.End) > 0 {
				opts = append(opts, clientv3.WithRange(string(op.Delete.End)))
			}
			if op.Delete.PrevKV {
				opts = append(opts, clientv3.WithPrevKV())
			}
			out = append(out, clientv3.OpDelete(string(op.Delete.Key), opts...))
		default:
			return nil, fmt.Errorf("%w: the client library has no empty operation", kv.ErrInvalid)
		}
	}
	return out, nil
}

func compares(from []kv.Compare) (out []clientv3.Cmp) {
	for _, c := range from {
		x := &pb.Compare{Key: c.Key, RangeEnd: c.End}
		switch c.Result {
		case kv.Greater:
			x.Result = pb.Compare_GREATER
		case kv.Less:
			x.Result = pb.Compare_LESS
		case kv.NotEqual:
			x.Result = pb.Compare_NOT_EQUAL
		}
		switch c.Target {
		case kv.CompareMod:
			x.Target, x.TargetUnion = pb.Compare_MOD, &pb.Compare_ModRevision{ModRevision: c.Number}
		case kv.CompareCreate:
			x.Target, x.TargetUnion = pb.Compare_CREATE, &pb.Compare_CreateRevision{CreateRevision: c.Number}
		case kv.CompareVersion:
			x.Target, x.TargetUnion = pb.Compare_VERSION, &pb.Compare_Version{Version: c.Number}
		case kv.CompareLease:
			x.Target, x.TargetUnion = pb.Compare_LEASE, &pb.Compare_Lease{Lease: c.Number}
		case kv.CompareValue:
			x.Target, x.TargetUnion = pb.Compare_VALUE, &pb.Compare_Value{Value: c.Value}
		default:
			x.Target = pb.Compare_CompareTarget(c.Target)
		}
		out = append(out, clientv3.FromCompare(x))
	}
	return out
}

func (a adapter) Txn(ctx context.Context, r kv.TxnRequest) (*kv.TxnResponse, error) {
	then, err := ops(r.Then)
	if err != nil {
		return nil, err
	}
	other, err := ops(r.Else)
	if err != nil {
		return nil, err
	}
	resp, err := a.c.Txn(ctx).If(compares(r.Compare)...).Then(then...).Else(other...).Commit()
	if err != nil {
		return nil, failed(err)
	}
	out := &kv.TxnResponse{Revision: resp.Header.Revision, Succeeded: resp.Succeeded}
	branch := r.Else
	if resp.Succeeded {
		branch = r.Then
	}
	for i, x := range resp.Responses {
		var o kv.OpResponse
		switch {
		case x.GetResponseRange() != nil:
			o.Range = rangeResult(branch[i].Range, x.GetResponseRange())
		case x.GetResponsePut().GetPrevKv() != nil:
			o.PrevKVs = []kv.KeyValue{toKV(x.GetResponsePut().PrevKv)}
		case x.GetResponseDeleteRange() != nil:
			o.Deleted, o.PrevKVs = x.GetResponseDeleteRange().Deleted, toKVs(x.GetResponseDeleteRange().PrevKvs)
		}
		out.Responses = append(out.Responses, o)
	}
	return out, nil
}

func (a adapter) Compact(ctx context.Context, revision int64) error {
	_, err := a.c.Compact(ctx, revision)
	return failed(err)
}

func (a adapter) LeaseGrant(ctx context.Context, id, ttl int64) (kv.Lease, error) {
	// The library's Grant cannot name the lease.
	resp, err := pb.NewLeaseClient(a.c.ActiveConnection()).LeaseGrant(ctx, &pb.LeaseGrantRequest{ID: id, TTL: ttl})
	if err != nil {
		return kv.Lease{}, failed(clientv3.ContextError(ctx, err))
	}
	return kv.Lease{ID: resp.ID, TTL: resp.TTL, GrantedTTL: resp.TTL}, nil
}

func (a adapter) LeaseRevoke(ctx context.Context, id int64) error {
	_, err := a.c.Revoke(ctx, clientv3.LeaseID(id))
	return failed(err)
}

func (a adapter) LeaseKeepAlive(ctx context.Context, id int64) (kv.Lease, error) {
	resp, err := a.c.KeepAliveOnce(ctx, clientv3.LeaseID(id))
	if err != nil {
		return kv.Lease{}, failed(err)
	}
	return kv.Lease{ID: int64(resp.ID), TTL: resp.TTL, GrantedTTL: resp.TTL}, nil
}

func (a adapter) Watch(ctx context.Context, r kv.WatchRequest) (kv.Watcher, error) {
	key := string(r.Key)
	if key == "" {
		key = "\x00"
	}
	opts := []clientv3.OpOption{clientv3.WithRev(r.StartRevision), clientv3.WithCreatedNotify(), clientv3.WithFragment()}
	if len(r.End) > 0 {
		opts = append(opts, clientv3.WithRange(string(r.End)))
	}
	if r.PrevKV {
		opts = append(opts, clientv3.WithPrevKV())
	}
	if r.NoPut {
		opts = append(opts, clientv3.WithFilterPut())
	}
	if r.NoDelete {
		opts = append(opts, clientv3.WithFilterDelete())
	}
	if r.ProgressNotify {
		opts = append(opts, clientv3.WithProgressNotify())
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{c: a.c, ctx: ctx, cancel: cancel, ch: a.c.Watch(ctx, key, opts...), closed: make(chan struct{})}
	created, alive := <-w.ch
	if !alive || !created.Created {
		cancel()
		return nil, fmt.Errorf("the watch was not created: %w", created.Err())
	}
	return w, nil
}

type watcher struct {
	c      *clientv3.Client
	ctx    context.Context
	cancel context.CancelFunc
	ch     clientv3.WatchChan
	once   sync.Once
	closed chan struct{}
}

func (w *watcher) Next(ctx context.Context) (kv.WatchResponse, error) {
	select {
	case <-w.closed:
		return kv.WatchResponse{}, kv.ErrClosed
	case <-ctx.Done():
		return kv.WatchResponse{}, ctx.Err()
	case r, alive := <-w.ch:
		select {
		case <-w.closed:
			return kv.WatchResponse{}, kv.ErrClosed
		default:
		}
		if !alive {
			return kv.WatchResponse{}, errors.New("the watch ended without a reason")
		}
		if err := r.Err(); err != nil {
			return kv.WatchResponse{}, failed(err)
		}
		out := kv.WatchResponse{Revision: r.Header.Revision}
		for _, e := range r.Events {
			x := kv.Event{KV: toKV(e.Kv)}
			if e.Type == clientv3.EventTypeDelete {
				x.Type = kv.EventDelete
			}
			if e.PrevKv != nil {
				prev := toKV(e.PrevKv)
				x.PrevKV = &prev
			}
			out.Events = append(out.Events, x)
		}
		return out, nil
	}
}

func (w *watcher) RequestProgress() error { return w.c.RequestProgress(w.ctx) }

func (w *watcher) Close() {
	w.once.Do(func() {
		close(w.closed)
		w.cancel()
	})
}
