package raftnode

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
)

// surveyTimeout bounds how long a member may take to say how it is.
const surveyTimeout = time.Second

// MemberState is a member and how it is.
type MemberState struct {
	Member
	// Applied is the last log entry that it has applied; Lag is how many it lacks of those that the asking member has.
	Applied, Lag uint64
	// Problem is why it is not healthy, empty when it is.
	Problem, Version string
}

// SurveyMembers lists the members and asks each how it is. One that does not answer within a second is listed with that.
func (n *Node) SurveyMembers(ctx context.Context) ([]MemberState, error) {
	ms, err := n.Members()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	out := make([]MemberState, len(ms))
	var asked sync.WaitGroup
	for i, m := range ms {
		asked.Go(func() { out[i] = n.survey(ctx, m) })
	}
	asked.Wait()
	return out, nil
}

func (n *Node) survey(ctx context.Context, m Member) MemberState {
	last := n.raft.LastIndex()
	s := MemberState{Member: m}
	if m.Name == n.cfg.Name {
		own := n.Status()
		if s.Version = own.Version; own.Problem != nil {
			s.Problem = own.Problem.Error()
		}
		s.Applied = max(own.Applied, min(n.raft.AppliedIndex(), own.LastIndex))
		s.Lag = last - min(s.Applied, last)
		return s
	}
	conn, err := n.PeerConn(m.RaftAddress)
	if err == nil {
		var r *storev1.StatusResponse
		if r, err = storev1.NewMaintenanceServiceClient(conn).Status(ctx, &storev1.StatusRequest{}); err == nil {
			s.Applied, s.Problem, s.Version = r.RaftAppliedIndex, r.Problem, r.Version
			s.Lag = last - min(s.Applied, last)
			return s
		}
	}
	s.Problem = fmt.Sprintf("it does not answer at %s: %s", m.RaftAddress, status.Convert(err).Message())
	s.Lag, _ = n.progress.lag(m.Name, last)
	return s
}

// Lag is how many log entries the other members lack, by name, as far as this member, the leader, knows; nil on others.
func (n *Node) Lag() map[string]uint64 {
	if !n.isLeader() {
		return nil
	}
	ms, err := n.Members()
	if err != nil {
		return nil
	}
	last, out := n.raft.LastIndex(), map[string]uint64{}
	for _, m := range ms {
		if m.Name == n.cfg.Name {
			continue
		}
		lag, known := n.progress.lag(m.Name, last)
		if !known {
			lag = last // it was sent nothing yet
		}
		out[m.Name] = lag
	}
	return out
}
