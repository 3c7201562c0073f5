package plugins

import (
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/plugins/defaultbinder"
	"github.com/orrery-io/orrery/services/scheduler/plugins/imagelocality"
	"github.com/orrery-io/orrery/services/scheduler/plugins/nodeaffinity"
	"github.com/orrery-io/orrery/services/scheduler/plugins/nodename"
	"github.com/orrery-io/orrery/services/scheduler/plugins/nodeports"
	"github.com/orrery-io/orrery/services/scheduler/plugins/noderesources"
	"github.com/orrery-io/orrery/services/scheduler/plugins/nodeunschedulable"
	"github.com/orrery-io/orrery/services/scheduler/plugins/prioritysort"
	"github.com/orrery-io/orrery/services/scheduler/plugins/schedulinggates"
	"github.com/orrery-io/orrery/services/scheduler/plugins/tainttoleration"
	"github.com/orrery-io/orrery/services/scheduler/plugins/topologyspread"
)

// Default is the profile default-scheduler: cheap filters first.
func Default(client *apiclient.Client) []framework.Weighted {
	return []framework.Weighted{
		{Plugin: schedulinggates.Plugin{}},
		{Plugin: prioritysort.Plugin{}},
		{Plugin: nodeunschedulable.Plugin{}},
		{Plugin: nodename.Plugin{}},
		{Plugin: tainttoleration.Plugin{}, Weight: 3},
		{Plugin: nodeaffinity.Plugin{}, Weight: 2},
		{Plugin: nodeports.Plugin{}},
		{Plugin: noderesources.Fit{}, Weight: 1},
		{Plugin: topologyspread.Plugin{}, Weight: 2},
		{Plugin: noderesources.BalancedAllocation{}, Weight: 1},
		{Plugin: imagelocality.Plugin{}, Weight: 1},
		{Plugin: defaultbinder.Plugin{Client: client}},
	}
}
