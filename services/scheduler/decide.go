package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// errNoNodes is Kubernetes' text for an empty cluster.
var errNoNodes = errors.New("no nodes available to schedule pods")

// fitError says why no node fits.
type fitError struct {
	nodes     int
	preFilter string
	rejected  framework.NodeStatuses
	after     string // what PostFilter had to say
}

func (e *fitError) Error() string {
	message := fmt.Sprintf("0/%d nodes are available:", e.nodes)
	if e.preFilter != "" {
		message += " " + e.preFilter + "."
	} else {
		histogram := map[string]int{}
		for _, s := range e.rejected {
			for _, r := range s.Reasons {
				histogram[r]++
			}
		}
		reasons := make([]string, 0, len(histogram))
		for reason, n := range histogram {
			reasons = append(reasons, fmt.Sprintf("%d %s", n, reason))
		}
		slices.Sort(reasons)
		message += " " + strings.Join(reasons, ", ") + "."
	}
	if e.after != "" {
		message += " " + e.after
	}
	return message
}

// rejectedBy lists the plugins that said no.
func (e *fitError) rejectedBy() []string {
	var plugins []string
	for _, s := range e.rejected {
		if s.Plugin != "" && !slices.Contains(plugins, s.Plugin) {
			plugins = append(plugins, s.Plugin)
		}
	}
	return plugins
}

// decide finds the node for the pod: a pure function of the snapshot but for the plugins' own knowledge, and for where the search begins.
func (s *Scheduler) decide(ctx context.Context, state *framework.CycleState, pod *snapshot.PodInfo, nodes *snapshot.Snapshot) (string, error) {
	if len(nodes.Nodes) == 0 {
		return "", errNoNodes
	}
	only, status := s.framework.RunPreFilters(ctx, state, pod, nodes)
	if status.Rejected() {
		return "", &fitError{nodes: len(nodes.Nodes), preFilter: status.Message(), rejected: framework.NodeStatuses{"": status}}
	}
	if !status.OK() {
		return "", statusError(status)
	}
	rejected := framework.NodeStatuses{}
	feasible, err := s.feasible(ctx, state, pod, nodes, only, rejected)
	if err != nil {
		return "", err
	}
	switch len(feasible) {
	case 0:
		fit := &fitError{nodes: len(nodes.Nodes), rejected: rejected}
		nominated, status := s.framework.RunPostFilters(ctx, state, pod, nodes, rejected)
		if !status.OK() && status.Code == framework.Error {
			return "", statusError(status)
		}
		if nominated == "" {
			fit.after = status.Message()
		}
		return "", fit
	case 1:
		return feasible[0].Node.Name, nil
	}
	scores, status := s.framework.RunScores(ctx, state, pod, feasible)
	if !status.OK() {
		return "", statusError(status)
	}
	return feasible[best(scores)].Node.Name, nil
}

// feasible filters nodes until enough were found, beginning each time where the last search ended, so that all nodes get their turn.
func (s *Scheduler) feasible(ctx context.Context, state *framework.CycleState, pod *snapshot.PodInfo, nodes *snapshot.Snapshot, only sets.Set[string], rejected framework.NodeStatuses) ([]*snapshot.NodeInfo, error) {
	all := len(nodes.Nodes)
	enough := enoughNodes(all)
	feasible := make([]*snapshot.NodeInfo, 0, min(enough, 128))
	looked := 0
	for ; looked < all && len(feasible) < enough; looked++ {
		node := nodes.Nodes[(s.start+looked)%all]
		if only != nil && !only.Has(node.Node.Name) {
			rejected[node.Node.Name] = &framework.Status{Code: framework.UnschedulableAndUnresolvable, Plugin: "NodeAffinity", Reasons: []string{"node(s) didn't match Pod's node affinity/selector"}}
			continue
		}
		status := s.framework.RunFilters(ctx, state, pod, node)
		switch {
		case status.OK():
			feasible = append(feasible, node)
		case status.Code == framework.Error:
			return nil, statusError(status)
		default:
			rejected[node.Node.Name] = status
		}
	}
	s.start = (s.start + looked) % all
	return feasible, nil
}

// Limits of the search, as in Kubernetes: below minNodes all are looked at, above a share that falls as the cluster grows.
const (
	minNodes   = 100
	minPercent = 5
)

func enoughNodes(all int) int {
	if all < minNodes {
		return all
	}
	return max(minNodes, all*max(50-all/125, minPercent)/100)
}

// best is the index of the highest score, any of them when several are.
func best(scores []int64) int {
	at, same := 0, 1
	for i := 1; i < len(scores); i++ {
		switch {
		case scores[i] > scores[at]:
			at, same = i, 1
		case scores[i] == scores[at]:
			if same++; rand.IntN(same) == 0 {
				at = i
			}
		}
	}
	return at
}

func statusError(s *framework.Status) error {
	if s.Err != nil {
		return fmt.Errorf("plugin %s: %w", s.Plugin, s.Err)
	}
	return fmt.Errorf("plugin %s: %s", s.Plugin, s.Message())
}
