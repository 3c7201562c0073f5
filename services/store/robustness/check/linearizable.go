package check

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/anishathalye/porcupine"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// keyState is what the model knows of one key. floor is the newest revision that anything has shown.
type keyState struct {
	mod   int64
	value string
	floor int64
}

// step is one call on one key as the model sees it.
type step struct {
	name string
	// write: the key becomes value (delete: nothing) at revision header. Otherwise it was seen as read, at header.
	write, delete bool
	value         string
	read          keyState
	header        int64
	// compares: the write holds only on mod revision expect; without write only on any other.
	compares bool
	expect   int64
}

// model is a register with compare-and-set whose versions are numbered by a counter that it shares with other registers.
var model = porcupine.Model{
	Init: func() any { return keyState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(keyState), input.(*step)
		if in.write {
			if in.header <= s.floor || in.compares && s.mod != in.expect {
				return false, s
			}
			if in.delete {
				return s.mod != 0, keyState{floor: in.header}
			}
			return true, keyState{mod: in.header, value: in.value, floor: in.header}
		}
		if in.header < s.floor || in.read.mod != s.mod || in.read.value != s.value || in.compares && s.mod == in.expect {
			return false, s
		}
		s.floor = in.header
		return true, s
	},
	DescribeOperation: func(input, _ any) string { return input.(*step).name },
	DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
}

// linearizable searches for each key an order of its calls that explains their answers and respects real time.
func linearizable(r *history.Round, t *history.Timeline, o Options) (found []string) {
	clients := map[string]int{}
	byKey := map[string][]porcupine.Operation{}
	for _, op := range r.Ops {
		if !op.Linearizable() || op.Kind == history.List {
			continue
		}
		id, ok := clients[op.Client]
		if !ok {
			id = len(clients) + 1
			clients[op.Client] = id
		}
		for _, key := range op.Keys {
			byKey[key] = append(byKey[key], porcupine.Operation{ClientId: id, Input: stepOf(op, key), Call: op.Call, Return: op.Return})
		}
	}
	for _, l := range r.Leases {
		byKey[l.Key] = append(byKey[l.Key], expiries(l, t)...)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		ops := byKey[key]
		if v, ok := r.State[key]; ok {
			first := &step{name: "before", write: true, value: v.Value, header: v.Mod}
			ops = append(ops, porcupine.Operation{Input: first, Call: -2, Return: -1})
		}
		result, info := porcupine.CheckOperationsVerbose(model, ops, o.Timeout)
		switch result {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			found = append(found, fmt.Sprintf("no order was found for the %d calls of %s within %v", len(ops), key, o.Timeout))
		default:
			found = append(found, fmt.Sprintf("no order explains the %d calls of %s", len(ops), key))
		}
		if o.Picture != "" && len(found) == 1 {
			if f, err := os.Create(o.Picture); err == nil {
				_ = porcupine.Visualize(model, info, f)
				_ = f.Close()
			}
		}
	}
	return found
}

func stepOf(op *history.Op, key string) *step {
	s := &step{header: op.Header, compares: op.Conditional(), expect: op.Expect}
	if op.Made() {
		s.write, s.delete, s.value = true, op.Kind == history.Delete, op.Value
	} else {
		for _, v := range op.Read {
			if v.Key == key {
				s.read = keyState{mod: v.Mod, value: v.Value}
			}
		}
	}
	s.name = fmt.Sprintf("%s %s expect=%d read=%s@%d at %d", op.Kind, op.Value, op.Expect, s.read.value, s.read.mod, op.Header)
	return s
}

// expiries are the deletions by the end of a lease: nobody's call, some time before a watch told of them.
func expiries(l *history.Lease, t *history.Timeline) (out []porcupine.Operation) {
	t.Changes(func(c *history.Change) {
		for i := range c.Events {
			e := &c.Events[i]
			if !e.Deleted || e.Key != l.Key {
				continue
			}
			if before := t.Get(e.Key, c.Rev-1); before != nil && before.Lease == l.ID {
				out = append(out, porcupine.Operation{Input: &step{name: "expired", write: true, delete: true, header: c.Rev}, Call: 0, Return: c.Seen})
			}
		}
	})
	return out
}
