package main

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

// target is a store as the cases see it, through its own client.
type target interface {
	put(ctx context.Context, key, value []byte) error
	// get reads one key, linearizably.
	get(ctx context.Context, key []byte) (found bool, err error)
	// list reads all keys with a prefix, linearizably, and returns how many there are.
	list(ctx context.Context, prefix []byte) (int, error)
	// watch calls created once the watch is registered and event for each value put under prefix, until ctx ends.
	watch(ctx context.Context, prefix []byte, created func(), event func(value []byte)) error
	close()
}

// dial makes one client for all callers.
func dial(kind string, endpoints []string) (target, error) {
	switch kind {
	case "etcd":
		c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(), MaxCallRecvMsgSize: 256 << 20})
		return etcdTarget{c}, err
	case "orrery":
		c, err := client.New(client.Config{Endpoints: endpoints})
		return orreryTarget{c}, err
	}
	return nil, fmt.Errorf("there is no store of kind %q", kind)
}

type etcdTarget struct{ c *clientv3.Client }

func (t etcdTarget) put(ctx context.Context, key, value []byte) error {
	_, err := t.c.Put(ctx, string(key), string(value))
	return err
}

func (t etcdTarget) get(ctx context.Context, key []byte) (bool, error) {
	r, err := t.c.Get(ctx, string(key))
	return err == nil && len(r.Kvs) == 1, err
}

func (t etcdTarget) list(ctx context.Context, prefix []byte) (int, error) {
	r, err := t.c.Get(ctx, string(prefix), clientv3.WithPrefix())
	if err != nil {
		return 0, err
	}
	return len(r.Kvs), nil
}

func (t etcdTarget) watch(ctx context.Context, prefix []byte, created func(), event func([]byte)) error {
	for r := range t.c.Watch(ctx, string(prefix), clientv3.WithPrefix(), clientv3.WithCreatedNotify()) {
		if r.Created {
			created()
			continue
		}
		if err := r.Err(); err != nil {
			return err
		}
		for _, e := range r.Events {
			event(e.Kv.Value)
		}
	}
	return ctx.Err()
}

func (t etcdTarget) close() { t.c.Close() }

type orreryTarget struct{ c *client.Client }

func (t orreryTarget) put(ctx context.Context, key, value []byte) error {
	_, err := t.c.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: key, Value: value}}}})
	return err
}

func (t orreryTarget) get(ctx context.Context, key []byte) (bool, error) {
	r, err := t.c.Range(ctx, kv.RangeRequest{Key: key})
	return err == nil && len(r.KVs) == 1, err
}

func (t orreryTarget) list(ctx context.Context, prefix []byte) (int, error) {
	r, err := t.c.Range(ctx, kv.RangeRequest{Key: prefix, End: kv.PrefixEnd(prefix)})
	if err != nil {
		return 0, err
	}
	return len(r.KVs), nil
}

func (t orreryTarget) watch(ctx context.Context, prefix []byte, created func(), event func([]byte)) error {
	w, err := t.c.Watch(ctx, kv.WatchRequest{Key: prefix, End: kv.PrefixEnd(prefix)})
	if err != nil {
		return err
	}
	defer w.Close()
	created()
	for {
		r, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for i := range r.Events {
			event(r.Events[i].KV.Value)
		}
	}
}

func (t orreryTarget) close() { t.c.Close() }
