package server

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/wire"
)

// Membership implements MembershipService on one member. Changes are the leader's to make: another member passes them
// on, unless it was asked by a peer.
type Membership struct {
	storev1.UnimplementedMembershipServiceServer
	node *raftnode.Node
	peer bool
}

// NewMembership serves clients; with peer set it serves other members and passes nothing on.
func NewMembership(n *raftnode.Node, peer bool) *Membership { return &Membership{node: n, peer: peer} }

// ListMembers implements MembershipService.
func (m *Membership) ListMembers(ctx context.Context, _ *storev1.ListMembersRequest) (*storev1.ListMembersResponse, error) {
	ms, err := m.node.SurveyMembers(ctx)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	resp := &storev1.ListMembersResponse{}
	for _, x := range ms {
		role := storev1.MemberRole_MEMBER_ROLE_LEARNER
		if x.Voter {
			role = storev1.MemberRole_MEMBER_ROLE_VOTER
		}
		resp.Members = append(resp.Members, &storev1.Member{
			Name: x.Name, RaftAddress: x.RaftAddress, ClientAddress: x.ClientAddress, Role: role, Leader: x.Leader,
			Lag: x.Lag, Healthy: x.Problem == "", Problem: x.Problem, Version: x.Version, AppliedIndex: x.Applied,
		})
	}
	return resp, nil
}

// AddLearner implements MembershipService.
func (m *Membership) AddLearner(ctx context.Context, req *storev1.AddLearnerRequest) (*storev1.AddLearnerResponse, error) {
	return change(ctx, m, req, storev1.MembershipServiceClient.AddLearner, func() (*storev1.AddLearnerResponse, error) {
		return &storev1.AddLearnerResponse{}, m.node.AddLearner(ctx, req.Name, req.RaftAddress)
	})
}

// PromoteMember implements MembershipService.
func (m *Membership) PromoteMember(ctx context.Context, req *storev1.PromoteMemberRequest) (*storev1.PromoteMemberResponse, error) {
	return change(ctx, m, req, storev1.MembershipServiceClient.PromoteMember, func() (*storev1.PromoteMemberResponse, error) {
		return &storev1.PromoteMemberResponse{}, m.node.Promote(ctx, req.Name)
	})
}

// RemoveMember implements MembershipService.
func (m *Membership) RemoveMember(ctx context.Context, req *storev1.RemoveMemberRequest) (*storev1.RemoveMemberResponse, error) {
	return change(ctx, m, req, storev1.MembershipServiceClient.RemoveMember, func() (*storev1.RemoveMemberResponse, error) {
		return &storev1.RemoveMemberResponse{}, m.node.Remove(ctx, req.Name)
	})
}

// MoveLeader implements MembershipService.
func (m *Membership) MoveLeader(ctx context.Context, req *storev1.MoveLeaderRequest) (*storev1.MoveLeaderResponse, error) {
	return change(ctx, m, req, storev1.MembershipServiceClient.MoveLeader, func() (*storev1.MoveLeaderResponse, error) {
		return &storev1.MoveLeaderResponse{}, m.node.MoveLeader(ctx, req.Name)
	})
}

// change runs local when this member leads and remote, by the leader, when it does not.
func change[Req, Resp any](ctx context.Context, m *Membership, req Req,
	remote func(storev1.MembershipServiceClient, context.Context, Req, ...grpcCallOption) (Resp, error), local func() (Resp, error),
) (Resp, error) {
	var none Resp
	if m.peer || m.node.IsLeader() {
		resp, err := local()
		if errors.Is(err, raftnode.ErrNoMember) {
			return none, status.Error(codes.NotFound, err.Error())
		}
		return resp, wire.ToStatus(err)
	}
	conn, err := m.node.LeaderConn(ctx)
	if err != nil {
		return none, wire.ToStatus(err)
	}
	resp, err := remote(storev1.NewMembershipServiceClient(conn), ctx, req)
	if wire.Disconnected(err) {
		err = wire.ToStatus(kv.ErrNoLeader)
	}
	return resp, err
}
