package etcdtest

import (
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/kvtest"
)

// lacks is what etcd's API cannot say.
var lacks = []kvtest.Lack{kvtest.NoTraceParent, kvtest.NoTTLCheck}

// TestConformance runs the suite that every implementation of kv.KV passes, through etcd's client library.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("SingleMember", func(t *testing.T) {
		c := newCluster(t, 1)
		cli := c.client(t)
		kvtest.Run(t, func(*testing.T) kv.KV { return adapter{cli} }, lacks...)
	})
	t.Run("Follower", func(t *testing.T) {
		c := newCluster(t, 3)
		cli := c.client(t, c.members[1])
		kvtest.Run(t, func(*testing.T) kv.KV { return adapter{cli} }, lacks...)
	})
}
