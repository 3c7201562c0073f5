package storage

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/store/kv"
)

// Errors that callers act on.
var (
	ErrNotFound = errors.New("no such object")
	ErrExists   = errors.New("the object exists")
)

// Store is the objects in the store. It is safe for concurrent use.
type Store struct {
	kv       kv.KV
	leases   *leases
	handover Handover
}

// New is a Store over a client of the store service; clock counts the time of objects that expire.
func New(client kv.KV, c clock.PassiveClock) *Store {
	return &Store{kv: client, leases: &leases{kv: client, clock: c}}
}

// Handover is where the watch cache of the same process finds what is written here.
func (s *Store) Handover() *Handover { return &s.handover }

// KV is the client underneath.
func (s *Store) KV() kv.KV { return s.kv }

// Get reads the newest version of an object from the store itself, or returns ErrNotFound.
func (s *Store) Get(ctx context.Context, c *Codec, key string) (*object.Entry, error) {
	resp, err := s.kv.Range(ctx, kv.RangeRequest{Key: []byte(key)})
	if err != nil {
		return nil, err
	}
	return only(c, key, resp)
}

// only decodes the answer to a range of one key.
func only(c *Codec, key string, resp *kv.RangeResponse) (*object.Entry, error) {
	if len(resp.KVs) == 0 {
		return nil, ErrNotFound
	}
	return c.Decode(key, resp.KVs[0].ModRevision, resp.KVs[0].Value)
}

// Create writes an object that is not there yet, or returns ErrExists. ttlSeconds 0 keeps it for ever. The entry takes obj.
func (s *Store) Create(ctx context.Context, c *Codec, key string, obj object.Object, ttlSeconds int64) (*object.Entry, error) {
	value, stored, err := c.Encode(obj)
	if err != nil {
		return nil, err
	}
	put := kv.PutRequest{Key: []byte(key), Value: value}
	if put.Lease, err = s.leases.get(ctx, ttlSeconds); err != nil {
		return nil, err
	}
	w := &written{codec: c, key: key, obj: obj, value: value, stored: stored, trace: kv.TraceParent(ctx)}
	s.handover.announce(w)
	resp, err := s.kv.Txn(ctx, kv.TxnRequest{
		Compare: []kv.Compare{{Key: put.Key, Target: kv.CompareVersion, Result: kv.Equal, Number: 0}},
		Then:    []kv.Op{{Put: &put}},
	})
	switch {
	case err != nil:
		s.handover.withdraw(w)
		return nil, fmt.Errorf("creating %s: %w", key, err)
	case !resp.Succeeded:
		s.handover.withdraw(w)
		return nil, ErrExists
	}
	return s.handover.done(w, resp.Revision), nil
}

// Rehearse makes the entry that a write of obj over cur would make, without writing: a dry run. cur is nil for a create.
func (s *Store) Rehearse(c *Codec, key string, obj object.Object, cur *object.Entry) (*object.Entry, error) {
	_, stored, err := c.Encode(obj)
	if err != nil {
		return nil, err
	}
	if cur != nil {
		return c.Entry(key, cur.Revision, obj, stored), nil
	}
	e := c.Entry(key, 0, obj, stored)
	obj.SetResourceVersion("")
	return e, nil
}
