package etcd

import (
	"context"
	"hash/fnv"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/server"
)

// apiVersion is the version of etcd whose API this is; clients choose by it what they may ask for.
const apiVersion = "3.7.3"

// Config of a Server.
type Config struct {
	Node *raftnode.Node
	// TLS says that members are reached by TLS: it makes their addresses https URLs.
	TLS bool
	// Clock nil means the real one.
	Clock clock.WithTicker
}

// Server answers etcd's API on one member.
type Server struct {
	cfg  Config
	node *raftnode.Node
	// membership and operator are the store's own services, which pass on to the leader what is the leader's.
	membership *server.Membership
	operator   *server.Maintenance
	memberID   uint64
	stopped    chan struct{}
	stop       sync.Once
}

// Register adds the services of etcd's API to a gRPC server.
func Register(r grpc.ServiceRegistrar, cfg Config) *Server {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	s := &Server{
		cfg: cfg, node: cfg.Node, membership: server.NewMembership(cfg.Node, false), operator: server.NewMaintenance(cfg.Node, false),
		memberID: idOf(cfg.Node.Name()), stopped: make(chan struct{}),
	}
	pb.RegisterKVServer(r, keyValues{Server: s})
	pb.RegisterWatchServer(r, watches{Server: s})
	pb.RegisterLeaseServer(r, leases{Server: s})
	pb.RegisterMaintenanceServer(r, maintenance{Server: s})
	pb.RegisterClusterServer(r, members{Server: s})
	return s
}

// Stop ends the streams of watches and leases, so that their clients go on with another member.
func (s *Server) Stop() { s.stop.Do(func() { close(s.stopped) }) }

// header is that of an answer which shows the store at revision; 0 means the newest that this member has.
func (s *Server) header(revision int64) *pb.ResponseHeader {
	p := s.node.Position()
	if revision == 0 {
		revision = p.Revision
	}
	return &pb.ResponseHeader{ClusterId: s.node.ClusterID(), MemberId: s.memberID, Revision: revision, RaftTerm: p.Term}
}

// idOf is a stable number for a name; never 0, which stands for none.
func idOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name)) //nolint:errcheck // a hash takes everything
	if id := h.Sum64(); id != 0 {
		return id
	}
	return 1
}

// received is what Recv of a stream returned.
type received[T any] struct {
	msg *T
	err error
}

// receive reads a stream in a goroutine of its own, since Recv cannot be left otherwise. It ends with the stream, at the
// latest when the handler has returned. What nobody takes any more is dropped.
func receive[T any](ctx context.Context, recv func() (*T, error), drop func(*T)) <-chan received[T] {
	out := make(chan received[T])
	go func() {
		for {
			m, err := recv()
			select {
			case out <- received[T]{m, err}:
			case <-ctx.Done():
				if m != nil {
					drop(m)
				}
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}
