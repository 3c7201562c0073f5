package server

import (
	"context"
	"slices"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/wire"
)

// alarms are the raised alarms twice: each kind once, and each with its member.
func alarms(raised []raftnode.Alarm) (kinds []storev1.AlarmType, members []*storev1.AlarmMember) {
	for _, a := range raised {
		if !slices.Contains(kinds, a.Kind) {
			kinds = append(kinds, a.Kind)
		}
		members = append(members, &storev1.AlarmMember{Alarm: a.Kind, Member: a.Member})
	}
	return kinds, members
}

// ListAlarms implements MaintenanceService.
func (m *Maintenance) ListAlarms(context.Context, *storev1.ListAlarmsRequest) (*storev1.ListAlarmsResponse, error) {
	kinds, members := alarms(m.node.Alarms())
	return &storev1.ListAlarmsResponse{Alarms: kinds, Members: members}, nil
}

// DisarmAlarm implements MaintenanceService.
func (m *Maintenance) DisarmAlarm(ctx context.Context, req *storev1.DisarmAlarmRequest) (*storev1.DisarmAlarmResponse, error) {
	err := m.node.SetAlarm(ctx, raftnode.Alarm{Kind: req.Alarm, Member: req.Member}, false)
	return &storev1.DisarmAlarmResponse{}, wire.ToStatus(err)
}

// CheckConsistency implements MaintenanceService.
func (m *Maintenance) CheckConsistency(ctx context.Context, _ *storev1.CheckConsistencyRequest) (*storev1.CheckConsistencyResponse, error) {
	c, err := m.node.CheckConsistency(ctx)
	if err != nil {
		return nil, wire.ToStatus(err)
	}
	resp := &storev1.CheckConsistencyResponse{RaftIndex: c.Index, Revision: c.Revision, Consistent: c.Consistent}
	for _, x := range c.Members {
		h := &storev1.MemberHash{Member: x.Name, Hash: x.Hash}
		if x.Err != nil {
			h.Error = x.Err.Error()
		}
		resp.Members = append(resp.Members, h)
	}
	return resp, nil
}
