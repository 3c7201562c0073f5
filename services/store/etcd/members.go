package etcd

import (
	"context"
	"errors"
	"net"
	"net/url"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// nameTimeout is for how long a member that is to be added may take to say its name.
const nameTimeout = 10 * time.Second

// members implements etcd's Cluster service.
type members struct {
	pb.UnimplementedClusterServer
	*Server
}

// list returns the members as this one knows them.
func (s *Server) list() ([]*pb.Member, error) {
	ms, err := s.node.Members()
	if err != nil {
		return nil, toStatus(err)
	}
	scheme := "http://"
	if s.cfg.TLS {
		scheme = "https://"
	}
	var out []*pb.Member
	for _, m := range ms {
		x := &pb.Member{ID: idOf(m.Name), Name: m.Name, PeerURLs: []string{scheme + m.RaftAddress}, IsLearner: !m.Voter}
		if m.ClientAddress != "" {
			x.ClientURLs = []string{scheme + m.ClientAddress}
		}
		out = append(out, x)
	}
	return out, nil
}

// nameOf finds a member by its number.
func (s *Server) nameOf(id uint64) (string, error) {
	ms, err := s.node.Members()
	if err != nil {
		return "", toStatus(err)
	}
	for _, m := range ms {
		if idOf(m.Name) == id {
			return m.Name, nil
		}
	}
	return "", rpctypes.ErrGRPCMemberNotFound
}

// listAfter lists the members once this one knows of every change before the call.
func (s *Server) listAfter(ctx context.Context) ([]*pb.Member, error) {
	if _, err := s.node.Revision(ctx); err != nil {
		return nil, toStatus(err)
	}
	return s.list()
}

// MemberList implements Cluster.
func (s members) MemberList(ctx context.Context, r *pb.MemberListRequest) (*pb.MemberListResponse, error) {
	get := s.listAfter
	if !r.Linearizable {
		get = func(context.Context) ([]*pb.Member, error) { return s.list() }
	}
	ms, err := get(ctx)
	if err != nil {
		return nil, err
	}
	return &pb.MemberListResponse{Header: s.header(0), Members: ms}, nil
}

// MemberAdd implements Cluster. The new member runs already, waiting to be added: it says its own name, which etcd's
// request has no place for.
func (s members) MemberAdd(ctx context.Context, r *pb.MemberAddRequest) (*pb.MemberAddResponse, error) {
	if !r.IsLearner {
		return nil, status.Error(codes.InvalidArgument, "etcdserver: members join as learners: add it with --learner, and promote it when it has caught up")
	}
	if len(r.PeerURLs) != 1 {
		return nil, status.Errorf(codes.InvalidArgument, "etcdserver: a member has one peer URL, not %d", len(r.PeerURLs))
	}
	u, err := url.Parse(r.PeerURLs[0])
	if err != nil || u.Host == "" {
		return nil, rpctypes.ErrGRPCMemberBadURLs
	}
	if _, _, err := net.SplitHostPort(u.Host); err != nil {
		return nil, rpctypes.ErrGRPCMemberBadURLs
	}
	have, err := s.node.Members()
	if err != nil {
		return nil, toStatus(err)
	}
	for _, m := range have {
		if m.RaftAddress == u.Host {
			return nil, rpctypes.ErrGRPCPeerURLExist
		}
	}
	name, err := s.askName(ctx, u.Host)
	if err != nil {
		return nil, status.Errorf(codes.FailedPrecondition,
			"etcdserver: no store member answers at %s: start it first, with the wish to join this cluster, then add it (%s)", u.Host, err)
	}
	if _, err := s.membership.AddLearner(ctx, &storev1.AddLearnerRequest{Name: name, RaftAddress: u.Host}); err != nil {
		return nil, fromOperator(ctx, err)
	}
	ms, err := s.listAfter(ctx)
	if err != nil {
		return nil, err
	}
	out := &pb.MemberAddResponse{Header: s.header(0), Members: ms}
	for _, m := range ms {
		if m.Name == name {
			out.Member = m
		}
	}
	return out, nil
}

func (s members) askName(ctx context.Context, address string) (string, error) {
	conn, err := s.node.PeerConn(address)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	resp, err := storev1.NewMaintenanceServiceClient(conn).Status(ctx, &storev1.StatusRequest{})
	return resp.GetName(), err
}

// MemberPromote implements Cluster.
func (s members) MemberPromote(ctx context.Context, r *pb.MemberPromoteRequest) (*pb.MemberPromoteResponse, error) {
	ms, err := s.listAfter(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range ms {
		if m.ID != r.ID {
			continue
		}
		if !m.IsLearner {
			return nil, rpctypes.ErrGRPCMemberNotLearner
		}
		_, err := s.membership.PromoteMember(ctx, &storev1.PromoteMemberRequest{Name: m.Name})
		if errors.Is(wire.FromStatus(ctx, err), kv.ErrInvalid) {
			return nil, rpctypes.ErrGRPCLearnerNotReady
		}
		if err != nil {
			return nil, fromOperator(ctx, err)
		}
		if ms, err = s.listAfter(ctx); err != nil {
			return nil, err
		}
		return &pb.MemberPromoteResponse{Header: s.header(0), Members: ms}, nil
	}
	return nil, rpctypes.ErrGRPCMemberNotFound
}

// MemberRemove implements Cluster.
func (s members) MemberRemove(ctx context.Context, r *pb.MemberRemoveRequest) (*pb.MemberRemoveResponse, error) {
	name, err := s.nameOf(r.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.membership.RemoveMember(ctx, &storev1.RemoveMemberRequest{Name: name}); err != nil {
		return nil, fromOperator(ctx, err)
	}
	ms, err := s.listAfter(ctx)
	if err != nil {
		// A member that removed itself is part of nothing any more; the list it has is the one without it.
		if ms, err = s.list(); err != nil {
			return nil, err
		}
	}
	return &pb.MemberRemoveResponse{Header: s.header(0), Members: ms}, nil
}

// MemberUpdate implements Cluster.
func (s members) MemberUpdate(context.Context, *pb.MemberUpdateRequest) (*pb.MemberUpdateResponse, error) {
	return nil, status.Error(codes.Unimplemented, "etcdserver: a store member announces its addresses itself: start it with the new ones")
}

// fromOperator translates an error of the store's own services.
func fromOperator(ctx context.Context, err error) error {
	return toStatus(wire.FromStatus(ctx, err))
}
