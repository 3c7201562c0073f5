package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

const second = int64(time.Second)

// sound is a small round in which every promise is kept.
func sound() *history.Round {
	a := func(value string, create, mod, version int64) history.KV {
		return history.KV{Key: "/registry/a", Value: value, Create: create, Mod: mod, Version: version}
	}
	b := history.KV{Key: "/registry/b", Value: "two", Create: 12, Mod: 12, Version: 1}
	l := history.KV{Key: "/registry/l", Value: "lease", Create: 14, Mod: 14, Version: 1, Lease: 7}
	old := history.KV{Key: "/registry/old", Value: "old", Create: 3, Mod: 5, Version: 2}
	ptr := func(v history.KV) *history.KV { return &v }
	events := []history.Event{
		{Rev: 11, Key: "/registry/a", KV: a("one", 11, 11, 1)},
		{Rev: 12, Key: "/registry/a", KV: a("two", 11, 12, 2), Prev: ptr(a("one", 11, 11, 1))},
		{Rev: 12, Key: "/registry/b", KV: b},
		{Rev: 13, Key: "/registry/a", Deleted: true, KV: history.KV{Key: "/registry/a", Mod: 13}, Prev: ptr(a("two", 11, 12, 2))},
		{Rev: 14, Key: "/registry/l", KV: l},
		{Rev: 15, Key: "/registry/l", Deleted: true, KV: history.KV{Key: "/registry/l", Mod: 15}, Prev: ptr(l)},
		{Rev: 16, Key: "/registry/a", KV: a("late", 16, 16, 1)},
	}
	respond := func(at, rev int64, es ...history.Event) history.Response {
		return history.Response{At: at * second, Revision: rev, Events: es}
	}
	all := &history.Watch{Name: "all", Prefix: history.Root, Start: 11, PrevKV: true, Responses: []history.Response{
		respond(1, 12, events[:3]...), respond(2, 13, events[3]), respond(3, 14, events[4]), respond(9, 15, events[5]), respond(10, 16, events[6]), respond(11, 16),
	}}
	plain := events[3]
	plain.Prev = nil
	deletes := &history.Watch{Name: "deletes", Prefix: "/registry/a", Start: 12, NoPut: true, Resumed: true, Responses: []history.Response{respond(3, 13, plain), respond(4, 14)}}
	op := func(kind history.Kind, call, ret int64, f func(*history.Op)) *history.Op {
		o := &history.Op{Client: "c", Kind: kind, Keys: []string{"/registry/a"}, Call: call * second / 10, Return: ret * second / 10, Outcome: history.OK}
		f(o)
		return o
	}
	return &history.Round{Base: 10, Final: 16, State: map[string]history.KV{old.Key: old}, Watches: []*history.Watch{all, deletes},
		Leases: []*history.Lease{{ID: 7, TTL: 3, Key: "/registry/l", Renewed: []int64{25 * second / 10, 5 * second}, Abandoned: 6 * second}},
		Ops: []*history.Op{
			op(history.Create, 1, 2, func(o *history.Op) { o.Value, o.Header, o.Succeeded = "one", 11, true }),
			op(history.Create, 3, 4, func(o *history.Op) { o.Value, o.Header, o.Read = "never", 11, []history.KV{a("one", 11, 11, 1)} }),
			op(history.Put, 5, 6, func(o *history.Op) {
				o.Keys, o.Value, o.Header = []string{"/registry/a", "/registry/b"}, "two", 12
				o.HasPrev, o.Prev = true, []history.KV{a("one", 11, 11, 1)}
			}),
			op(history.Get, 7, 8, func(o *history.Op) { o.Header, o.Read = 12, []history.KV{a("two", 11, 12, 2)} }),
			op(history.List, 7, 8, func(o *history.Op) {
				o.Keys, o.Prefix, o.Limit = nil, history.Root, 2
				o.Header, o.Read, o.Count, o.More = 12, []history.KV{a("two", 11, 12, 2), b}, 3, true
			}),
			op(history.Delete, 9, 10, func(o *history.Op) { o.Expect, o.Header, o.Succeeded = 12, 13, true }),
			op(history.Get, 11, 12, func(o *history.Op) {
				o.Serializable, o.Revision, o.Header, o.Read = true, 11, 11, []history.KV{a("one", 11, 11, 1)}
			}),
			op(history.Put, 26, 27, func(o *history.Op) {
				o.Keys, o.Value, o.Lease, o.Header = []string{"/registry/l"}, "lease", 7, 14
			}),
			op(history.Create, 91, 95, func(o *history.Op) { o.Value, o.Outcome = "late", history.Unknown }),
			op(history.Update, 91, 95, func(o *history.Op) { o.Value, o.Expect, o.Outcome = "not made", 11, history.Unknown }),
			op(history.Put, 91, 95, func(o *history.Op) { o.Value, o.Outcome = "refused", history.Failed }),
		}}
}

func TestRound(t *testing.T) {
	if found := Round(sound(), Options{Timeout: time.Minute}); len(found) > 0 {
		t.Fatalf("a sound round has violations: %v", found)
	}
	event := func(r *history.Round, i, j int) *history.Event { return &r.Watches[0].Responses[i].Events[j] }
	tests := []struct {
		name, check string
		spoil       func(*history.Round)
	}{
		{"an acknowledged write is not there", "acknowledged writes", func(r *history.Round) { r.Ops[0].Header = 17 }},
		{"an acknowledged write is another one", "acknowledged writes", func(r *history.Round) { r.Ops[0].Value = "other" }},
		{"a comparison that did not hold went through", "acknowledged writes", func(r *history.Round) { r.Ops[5].Expect = 11 }},
		{"a wrong previous version was returned", "acknowledged writes", func(r *history.Round) { r.Ops[2].Prev = nil }},
		{"a refused write is there", "refused writes", func(r *history.Round) { r.Ops[8].Outcome = history.Failed }},
		{"a write that lost its comparison is there", "refused writes", func(r *history.Round) { r.Ops[1].Value = "one" }},
		{"a change that nobody made", "authors", func(r *history.Round) { r.Ops[8].Value = "unheard of" }},
		{"a deletion that nobody made", "authors", func(r *history.Round) { r.Ops[5].Outcome, r.Ops[5].Expect = history.Unknown, 11 }},
		{"a revision is missing", "timeline", func(r *history.Round) { r.Watches[0].Responses[1].Events = nil }},
		{"a version out of sequence", "timeline", func(r *history.Round) { event(r, 0, 1).KV.Version = 3 }},
		{"a stale linearizable read", "real time", func(r *history.Round) {
			r.Ops[3].Header, r.Ops[3].Read = 11, []history.KV{r.Ops[1].Read[0]}
		}},
		{"a stale linearizable read, seen from its key alone", "linearizability", func(r *history.Round) {
			r.Ops[3].Header, r.Ops[3].Read = 11, []history.KV{r.Ops[1].Read[0]}
		}},
		{"a write older than one before it", "real time", func(r *history.Round) { r.Ops[7].Call, r.Ops[7].Return = 110*second, 111*second }},
		{"a read of something else", "reads", func(r *history.Round) { r.Ops[6].Read = nil }},
		{"a page that says it is the last", "reads", func(r *history.Round) { r.Ops[4].More = false }},
		{"a comparison refused although it held", "reads", func(r *history.Round) { r.Ops[1].Kind, r.Ops[1].Expect = history.Update, 11 }},
		{"a lease that ended early", "leases", func(r *history.Round) { r.Leases[0].Renewed = append(r.Leases[0].Renewed, 7*second) }},
		{"a lease renewed after its end", "leases", func(r *history.Round) { r.Leases[0].Renewed = append(r.Leases[0].Renewed, 10*second) }},
		{"a lease not found early", "leases", func(r *history.Round) { r.Leases[0].Lost = 7 * second }},
		{"events out of order", "watch ordered", func(r *history.Round) {
			x := r.Watches[0].Responses
			x[1], x[2] = x[2], x[1]
		}},
		{"an event twice", "watch unique", func(r *history.Round) {
			r.Watches[0].Responses[1].Events = append(r.Watches[0].Responses[1].Events, *event(r, 1, 0))
		}},
		{"a revision in two responses", "watch atomic", func(r *history.Round) {
			x := r.Watches[0].Responses
			first, second := x[0], x[0]
			first.Events, second.Events = first.Events[:2], second.Events[2:]
			r.Watches[0].Responses = append([]history.Response{first, second}, x[1:]...)
		}},
		{"an event left out", "watch reliable", func(r *history.Round) { r.Watches[1].Responses[0].Events = nil }},
		{"a resumed watch that begins late", "watch resumable", func(r *history.Round) { r.Watches[0].Start = 9; r.Watches[1].Start = 14 }},
		{"progress ahead of events", "watch bookmarkable", func(r *history.Round) { r.Watches[0].Responses[0].Revision = 13 }},
		{"progress past the newest revision", "watch bookmarkable", func(r *history.Round) { r.Watches[1].Responses[1].Revision = 17 }},
		{"an event not asked for", "watch filtered", func(r *history.Round) { r.Watches[1].NoPut, r.Watches[1].NoDelete = false, true }},
		{"a previous version not asked for", "watch prev value", func(r *history.Round) { r.Watches[1].Responses[0].Events[0].Prev = event(r, 1, 0).Prev }},
		{"no previous version", "watch prev value", func(r *history.Round) { event(r, 1, 0).Prev = nil }},
		{"a watch that stopped", "watch alive", func(r *history.Round) { r.Watches[1].Stalled = "it stands still" }},
		{"a watch that was ended", "watch alive", func(r *history.Round) { r.Watches[1].Ended = "for no reason" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := sound()
			tt.spoil(r)
			found := Round(r, Options{Timeout: time.Minute})
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Check == tt.check }) {
				t.Errorf("check %q did not find it; found: %v", tt.check, found)
			}
		})
	}
}

// TestLateWrite: a write that was given up in an earlier round explains a change, once.
func TestLateWrite(t *testing.T) {
	r := sound()
	late := *r.Ops[8]
	r.Ops = append(r.Ops[:8], r.Ops[9:]...)
	r.Late = []*history.Op{&late}
	if found := Round(r, Options{Timeout: time.Minute}); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	if late.Outcome != history.OK || late.Header != 16 {
		t.Errorf("the late write is %+v", late)
	}
}

// TestManyOfOneKind: one cause does not fill the report.
func TestManyOfOneKind(t *testing.T) {
	r := sound()
	for i := range 50 {
		r.Ops = append(r.Ops, &history.Op{Client: "c", Kind: history.Put, Keys: []string{"/registry/a"}, Value: fmt.Sprint(i), Header: int64(100 + i), Outcome: history.OK})
	}
	n := 0
	for _, v := range Round(r, Options{Timeout: time.Millisecond}) {
		if v.Check == "acknowledged writes" {
			n++
			if n == maxPerCheck+1 && !strings.Contains(v.Detail, "more") {
				t.Errorf("the last one says %q", v.Detail)
			}
		}
	}
	if n != maxPerCheck+1 {
		t.Errorf("%d violations of one kind", n)
	}
}
