package operator

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
)

// Roles of a member.
const (
	RoleVoter   = "voter"
	RoleLearner = "learner"
)

// Member is a member of the store as it was found. The names of its fields in JSON are stable.
type Member struct {
	Name          string `json:"name"`
	Role          string `json:"role"`
	Leader        bool   `json:"leader"`
	ClientAddress string `json:"clientAddress"`
	RaftAddress   string `json:"raftAddress"`
	// Healthy: it answered, says that it serves, and nothing is wrong with it. Problem says what is, and what to do.
	Healthy bool   `json:"healthy"`
	Problem string `json:"problem,omitempty"`
	// Status is nil when the member did not answer.
	Status *Status `json:"status,omitempty"`
}

// Status is what a member says about itself.
type Status struct {
	// Leader is whom the member takes for the leader; empty when it knows of none.
	Leader  string `json:"leader"`
	Term    uint64 `json:"term"`
	Index   uint64 `json:"index"`
	Applied uint64 `json:"applied"`
	// Lag is how many log entries the leader had applied and it had not.
	Lag             uint64 `json:"lag"`
	Revision        int64  `json:"revision"`
	CompactRevision int64  `json:"compactRevision"`
	Keys            int64  `json:"keys"`
	// SizeBytes is that of all versions kept, which the quota bounds; LiveBytes that of the newest ones.
	SizeBytes    int64   `json:"sizeBytes"`
	LiveBytes    int64   `json:"liveBytes"`
	QuotaBytes   int64   `json:"quotaBytes"`
	LogFileBytes int64   `json:"logFileBytes"`
	LogStore     string  `json:"logStore,omitempty"`
	Watchers     int64   `json:"watchers"`
	Leases       int64   `json:"leases"`
	Alarms       []Alarm `json:"alarms,omitempty"`
	Version      string  `json:"version,omitempty"`
}

// answer is what one address said.
type answer struct {
	address string
	status  *storev1.StatusResponse
	problem string // of a member that answered
	err     error
}

// Members looks at all members. It fails when no endpoint answers; members that do not answer are rows with a Problem.
func (o *Operator) Members(ctx context.Context) ([]Member, error) {
	found := o.askAll(ctx, o.cfg.Endpoints)
	listed, cluster, err := o.list(ctx, found)
	if err != nil {
		return nil, err
	}
	byName := map[string]answer{}
	for _, a := range found {
		if a.err == nil {
			byName[a.status.Name] = a
		}
	}
	// The rest is asked where it says that clients reach it; one that an endpoint has failed to reach is not asked again.
	byAddress := map[string]answer{}
	for _, a := range found {
		byAddress[a.address] = a
	}
	var rest []string
	for _, m := range listed {
		_, known := byName[m.Name]
		if _, asked := byAddress[m.ClientAddress]; !known && !asked && m.ClientAddress != "" {
			rest = append(rest, m.ClientAddress)
		}
	}
	for _, a := range o.askAll(ctx, rest) {
		byAddress[a.address] = a
	}
	var out []Member
	for _, m := range listed {
		a, known := byName[m.Name]
		if !known {
			a = byAddress[m.ClientAddress]
		}
		out = append(out, member(m, a, cluster))
	}
	lag(out)
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// lag fills in how far members are behind what the leader has applied, or the farthest one when no leader answered. Raft's
// own index would not do: it counts entries that no member applies.
func lag(ms []Member) {
	var head, farthest uint64
	for _, m := range ms {
		if m.Status == nil {
			continue
		}
		farthest = max(farthest, m.Status.Applied)
		if m.Leader {
			head = m.Status.Applied
		}
	}
	if head == 0 {
		head = farthest
	}
	for _, m := range ms {
		if m.Status != nil && m.Status.Applied < head {
			m.Status.Lag = head - m.Status.Applied
		}
	}
}

// askAll asks members side by side.
func (o *Operator) askAll(ctx context.Context, addresses []string) []answer {
	out := make([]answer, len(addresses))
	var wg sync.WaitGroup
	for i, address := range addresses {
		wg.Go(func() { out[i] = o.ask(ctx, address) })
	}
	wg.Wait()
	return out
}

// ask asks one member how it is.
func (o *Operator) ask(ctx context.Context, address string) answer {
	a := answer{address: address}
	conn, err := o.conn(address)
	if err != nil {
		a.err = failed(ctx, "", address, err)
		return a
	}
	ctx, cancel := o.limit(ctx)
	defer cancel()
	if a.status, err = storev1.NewMaintenanceServiceClient(conn).Status(ctx, &storev1.StatusRequest{}); err != nil {
		a.err = failed(ctx, "", address, err)
		return a
	}
	h, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	switch {
	case a.status.LeaderName == "":
		a.problem = "it knows of no leader: " + nextLeader
	case a.status.Problem != "":
		a.problem = a.status.Problem
	case err != nil:
		a.problem = "its health is not known: " + reason(err)
	case h.Status != healthv1.HealthCheckResponse_SERVING:
		a.problem = "it does not serve yet: wait until it has caught up, or look at its log"
	}
	return a
}

// list asks for the members whoever answered and knows most: a leader before others, the later term before the earlier.
// It also returns the number of their cluster.
func (o *Operator) list(ctx context.Context, found []answer) (members []*storev1.Member, cluster string, _ error) {
	var errs []error
	var alive []answer
	for _, a := range found {
		if a.err != nil {
			errs = append(errs, a.err)
		} else {
			alive = append(alive, a)
		}
	}
	slices.SortStableFunc(alive, func(a, b answer) int {
		if a.status.Leader != b.status.Leader && a.status.RaftTerm == b.status.RaftTerm {
			if a.status.Leader {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.status.RaftTerm, a.status.RaftTerm)
	})
	for _, a := range alive {
		conn, err := o.conn(a.address)
		if err == nil {
			var resp *storev1.ListMembersResponse
			limited, cancel := o.limit(ctx)
			resp, err = storev1.NewMembershipServiceClient(conn).ListMembers(limited, &storev1.ListMembersRequest{})
			cancel()
			if err == nil {
				return resp.Members, a.status.ClusterId, nil
			}
		}
		errs = append(errs, failed(ctx, a.status.Name, a.address, err))
	}
	return nil, "", errors.Join(errs...)
}

// member joins what the cluster and what the member itself say.
func member(m *storev1.Member, a answer, cluster string) Member {
	out := Member{Name: m.Name, Role: RoleLearner, Leader: m.Leader, ClientAddress: m.ClientAddress, RaftAddress: m.RaftAddress}
	if m.Role == storev1.MemberRole_MEMBER_ROLE_VOTER {
		out.Role = RoleVoter
	}
	var unreachable *MemberError
	switch {
	case errors.As(a.err, &unreachable):
		out.Problem = unreachable.Reason()
		return out
	case a.err != nil:
		out.Problem = a.err.Error()
		return out
	case a.status == nil:
		out.Problem = "it has not told its address for clients yet: start it, or wait until it has caught up; name it with --endpoints to ask it anyway"
		return out
	case a.status.Name != m.Name:
		out.Problem = "member \"" + a.status.Name + "\" answers at its address: correct --advertise of one of them"
		return out
	case a.status.ClusterId != cluster && a.status.ClusterId != "" && cluster != "":
		out.Problem = "the member at its address is of another cluster, " + a.status.ClusterId + ", which was restored or recovered: stop the members of cluster " + cluster + ", which they have left"
		return out
	}
	s := a.status
	out.Problem, out.Healthy = a.problem, a.problem == ""
	out.Status = &Status{
		Leader: s.LeaderName, Term: s.RaftTerm, Index: s.RaftIndex, Applied: s.RaftAppliedIndex, Revision: s.Revision, CompactRevision: s.CompactRevision,
		Keys: s.Keys, SizeBytes: s.SizeBytes, LiveBytes: s.LiveBytes, QuotaBytes: s.QuotaBytes, LogFileBytes: s.LogFileBytes, LogStore: s.LogStore,
		Watchers: s.Watchers, Leases: s.Leases, Alarms: alarms(s.AlarmMembers, s.Alarms), Version: s.Version,
	}
	return out
}
