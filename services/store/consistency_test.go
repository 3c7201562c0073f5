package store_test

import (
	"testing"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store"
)

// TestConsistencyCheckOnAnyMember asks a follower: the leader compares, and the list of members says how each of them is.
func TestConsistencyCheckOnAnyMember(t *testing.T) {
	ms := clusterOf(t, 3, store.Config{Version: "v1.2.3"})
	c := dial(t, ms[1])
	mustPut(t, c, "/a", "1")
	resp, err := c.Maintenance().CheckConsistency(t.Context(), &storev1.CheckConsistencyRequest{})
	if err != nil || !resp.Consistent || len(resp.Members) != 3 || resp.Revision < 2 {
		t.Fatalf("checked %v, %v", resp, err)
	}
	ms[2].stop()
	resp, err = c.Maintenance().CheckConsistency(t.Context(), &storev1.CheckConsistencyRequest{})
	if err != nil || resp.Consistent {
		t.Fatalf("with one away: %v, %v", resp, err)
	}
	list, err := c.Membership().ListMembers(t.Context(), &storev1.ListMembersRequest{})
	if err != nil || len(list.Members) != 3 {
		t.Fatal(list, err)
	}
	for _, m := range list.Members {
		away := m.Name == ms[2].cfg.Name
		if m.Healthy == away || (m.Version == "v1.2.3") == away || (m.AppliedIndex > 0) == away {
			t.Errorf("%v", m)
		}
	}
	if alarms, err := c.Maintenance().ListAlarms(t.Context(), &storev1.ListAlarmsRequest{}); err != nil || len(alarms.Alarms) != 0 {
		t.Errorf("alarms %v, %v", alarms, err)
	}
}
