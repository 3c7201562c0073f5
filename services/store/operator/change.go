package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// Add adds a member without a vote.
func (o *Operator) Add(ctx context.Context, name, raftAddress string) error {
	_, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.AddLearnerResponse, error) {
		return storev1.NewMembershipServiceClient(c).AddLearner(ctx, &storev1.AddLearnerRequest{Name: name, RaftAddress: raftAddress})
	})
	return err
}

// Promote gives a learner its vote. One that lags is refused, with how far it lags.
func (o *Operator) Promote(ctx context.Context, name string) error {
	_, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.PromoteMemberResponse, error) {
		return storev1.NewMembershipServiceClient(c).PromoteMember(ctx, &storev1.PromoteMemberRequest{Name: name})
	})
	return err
}

// Remove takes a member out.
func (o *Operator) Remove(ctx context.Context, name string) error {
	_, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.RemoveMemberResponse, error) {
		return storev1.NewMembershipServiceClient(c).RemoveMember(ctx, &storev1.RemoveMemberRequest{Name: name})
	})
	return err
}

// MoveLeader hands leadership to a voter; with no name the leader chooses.
func (o *Operator) MoveLeader(ctx context.Context, name string) error {
	_, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.MoveLeaderResponse, error) {
		return storev1.NewMembershipServiceClient(c).MoveLeader(ctx, &storev1.MoveLeaderRequest{Name: name})
	})
	return err
}

// anyMember makes a call of whichever member takes it: a follower passes it on to the leader. It goes on to the next member
// when one is not reached or knows no leader, and stops at the first other answer.
func anyMember[Resp any](ctx context.Context, o *Operator, call func(context.Context, *grpc.ClientConn) (Resp, error)) (Resp, error) {
	var none Resp
	var errs []error
	addresses, err := o.addresses(ctx)
	if err != nil {
		return none, err
	}
	for _, address := range addresses {
		conn, err := o.conn(address)
		if err != nil {
			return none, failed(ctx, "", address, err)
		}
		resp, err := call(ctx, conn)
		if err == nil {
			return resp, nil
		}
		cause := wire.FromStatus(ctx, err)
		err = failed(ctx, "", address, err)
		if !errors.Is(cause, kv.ErrNoLeader) && !wire.Disconnected(cause) {
			return none, err
		}
		errs = append(errs, err)
	}
	return none, errors.Join(errs...)
}

// addresses are those at which members answered just now, the leader's first.
func (o *Operator) addresses(ctx context.Context) ([]string, error) {
	found := o.askAll(ctx, o.cfg.Endpoints)
	var out []string
	var errs []error
	for _, a := range found {
		switch {
		case a.err != nil:
			errs = append(errs, a.err)
		case a.status.Leader:
			out = slices.Insert(out, 0, a.address)
		default:
			out = append(out, a.address)
		}
	}
	if len(out) == 0 {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// find is the member called name.
func (o *Operator) find(ctx context.Context, name string) (Member, error) {
	ms, err := o.Members(ctx)
	if err != nil {
		return Member{}, err
	}
	for _, m := range ms {
		if m.Name == name {
			return m, nil
		}
	}
	return Member{}, NoMemberError(name, ms)
}

// NoMemberError says that there is no member called name, and which there are.
func NoMemberError(name string, ms []Member) error {
	var names []string
	for _, m := range ms {
		names = append(names, m.Name)
	}
	return fmt.Errorf("the store has no member %q: its members are %s", name, strings.Join(names, ", "))
}

// Alarm is a warning that stays until it is disarmed.
type Alarm struct {
	// Kind is NOSPACE or CORRUPT.
	Kind string `json:"kind"`
	// Member is the one that it is about; empty when that is the whole store.
	Member string `json:"member,omitempty"`
}

func (a Alarm) String() string {
	if a.Member == "" {
		return a.Kind
	}
	return a.Kind + ":" + a.Member
}

// Kinds of alarm.
const (
	AlarmNoSpace = "NOSPACE"
	AlarmCorrupt = "CORRUPT"
)

var alarmKinds = map[storev1.AlarmType]string{
	storev1.AlarmType_ALARM_TYPE_NO_SPACE: AlarmNoSpace,
	storev1.AlarmType_ALARM_TYPE_CORRUPT:  AlarmCorrupt,
}

// alarms reads the newer form of a list of alarms, or the older one of a member that does not have it.
func alarms(newer []*storev1.AlarmMember, older []storev1.AlarmType) (out []Alarm) {
	kind := func(t storev1.AlarmType) string {
		if k, ok := alarmKinds[t]; ok {
			return k
		}
		return t.String()
	}
	for _, a := range newer {
		out = append(out, Alarm{Kind: kind(a.Alarm), Member: a.Member})
	}
	if len(newer) == 0 {
		for _, t := range older {
			out = append(out, Alarm{Kind: kind(t)})
		}
	}
	return out
}

// Alarms lists the alarms that are raised.
func (o *Operator) Alarms(ctx context.Context) ([]Alarm, error) {
	resp, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.ListAlarmsResponse, error) {
		return storev1.NewMaintenanceServiceClient(c).ListAlarms(ctx, &storev1.ListAlarmsRequest{})
	})
	if err != nil {
		return nil, err
	}
	return alarms(resp.Members, resp.Alarms), nil
}

// Disarm clears an alarm.
func (o *Operator) Disarm(ctx context.Context, a Alarm) error {
	for t, kind := range alarmKinds {
		if kind == a.Kind {
			_, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.DisarmAlarmResponse, error) {
				return storev1.NewMaintenanceServiceClient(c).DisarmAlarm(ctx, &storev1.DisarmAlarmRequest{Alarm: t, Member: a.Member})
			})
			return err
		}
	}
	return fmt.Errorf("there is no alarm %q: want %s or %s", a.Kind, AlarmNoSpace, AlarmCorrupt)
}

// Compact forgets the history before revision, or before the newest one when revision is 0; it returns where.
func (o *Operator) Compact(ctx context.Context, revision int64) (int64, error) {
	_, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.CompactResponse, error) {
		client := storev1.NewStoreServiceClient(c)
		if revision == 0 {
			resp, err := client.Revision(ctx, &storev1.RevisionRequest{})
			if err != nil {
				return nil, err
			}
			revision = resp.Revision
		}
		return client.Compact(ctx, &storev1.CompactRequest{Revision: revision})
	})
	return revision, err
}

// Consistency is the outcome of a comparison of all members.
type Consistency struct {
	Consistent bool         `json:"consistent"`
	Index      uint64       `json:"index"`
	Revision   int64        `json:"revision"`
	Members    []MemberHash `json:"members"`
}

// MemberHash is the hash of a member's content, or why there is none.
type MemberHash struct {
	Name    string `json:"name"`
	Hash    string `json:"hash,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Check compares the content of all members at one log index.
func (o *Operator) Check(ctx context.Context) (*Consistency, error) {
	resp, err := anyMember(ctx, o, func(ctx context.Context, c *grpc.ClientConn) (*storev1.CheckConsistencyResponse, error) {
		return storev1.NewMaintenanceServiceClient(c).CheckConsistency(ctx, &storev1.CheckConsistencyRequest{})
	})
	if err != nil {
		return nil, err
	}
	out := &Consistency{Consistent: resp.Consistent, Index: resp.RaftIndex, Revision: resp.Revision}
	for _, m := range resp.Members {
		h := MemberHash{Name: m.Member, Problem: m.Error}
		if m.Error == "" {
			h.Hash = fmt.Sprintf("%016x", m.Hash)
		}
		out.Members = append(out.Members, h)
	}
	return out, nil
}

// IsNotFound reports whether a member answered that there is no member of the name.
func IsNotFound(err error) bool {
	var m *MemberError
	return errors.As(err, &m) && status.Code(m.Cause) == codes.NotFound
}
