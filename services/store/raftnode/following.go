package raftnode

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// errLeaderChanged is why a call to a leader was given up: this member follows another one by now, or none.
var errLeaderChanged = errors.New("the leader changed")

// following is the leader that this member follows. A call to a leader that was cut off or has stopped hangs until its
// connection is found dead, which takes many times as long as an election: so calls end with the following.
type following struct {
	// leader is the address of the present leader's peers' port; empty when there is none.
	leader func() string

	mu     sync.Mutex
	addr   string
	ctx    context.Context // of the calls to addr
	cancel context.CancelCauseFunc
}

// update looks who leads and ends the calls to somebody else.
func (f *following) update() {
	f.mu.Lock()
	defer f.mu.Unlock()
	addr := f.leader()
	if f.ctx != nil {
		if f.addr == addr {
			return
		}
		f.cancel(errLeaderChanged)
	}
	f.addr = addr
	f.ctx, f.cancel = context.WithCancelCause(context.Background())
}

// during returns a context for a call to the leader at addr: it ends with parent, and when this member follows another
// one. done frees it. ok is false when that one does not lead any more.
func (f *following) during(parent context.Context, addr string) (ctx context.Context, done func(), ok bool) {
	f.mu.Lock()
	of, same := f.ctx, f.ctx != nil && f.addr == addr
	f.mu.Unlock()
	if !same {
		f.update()
		f.mu.Lock()
		of, same = f.ctx, f.addr == addr
		f.mu.Unlock()
	}
	if !same {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(of, func() { cancel(errLeaderChanged) })
	return ctx, func() { stop(); cancel(nil) }, true
}

// askLeader calls the leader, another member. Without one the error is kv.ErrNoLeader; a call that was cut short, by its
// connection or by a change of the leader, gets broken.
func (n *Node) askLeader(ctx context.Context, broken error, call func(context.Context, storev1.PeerServiceClient) error) error {
	conn, addr, err := n.leaderConn(ctx)
	if err != nil {
		return err
	}
	limited, done, ok := n.following.during(ctx, addr)
	if !ok {
		return kv.ErrNoLeader
	}
	defer done()
	err = call(limited, storev1.NewPeerServiceClient(conn))
	switch {
	case err == nil:
		return nil
	case status.Code(err) == codes.Canceled && ctx.Err() == nil && errors.Is(context.Cause(limited), errLeaderChanged):
		return broken
	}
	return peerError(ctx, err, broken)
}
