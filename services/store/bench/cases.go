package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// caseNames are all cases, in the order in which they run.
var caseNames = []string{"put1", "put16", "put64", "put256", "range", "get", "watch100", "watch100shared", "rss"}

const (
	valueSize = 1024
	listKeys  = 1000
	// listers and getters are how many callers read at a time.
	listers, getters = 8, 64
	watchers         = 100
	// watchClients are how many connections independent watchers have, with as many prefixes to each.
	watchClients = 10
	// watchWriters write while watchers watch, watchEvents each watcher sees.
	watchWriters, watchEvents = 16, 2000
	rssKeys                   = 100_000
	// fillers load keys.
	fillers = 64
)

// bench runs cases against one cluster.
type bench struct {
	o       *options
	kind    string
	cluster *cluster
	t       target
	// serial numbers the keys that were ever put.
	serial atomic.Int64
	listed bool
}

// measure is what one turn of one case gave.
type measure struct {
	perSecond float64
	p99       time.Duration
	bytes     int64
}

func (b *bench) run(ctx context.Context, name string, turn int) (m measure, err error) {
	if name == "range" || name == "get" {
		if err := b.load(ctx); err != nil {
			return m, err
		}
	}
	end := b.profile(name, turn)
	defer end()
	server, client, start := b.cluster.cpu(), cpu("self"), time.Now()
	switch {
	case strings.HasPrefix(name, "put"):
		n, _ := strconv.Atoi(name[3:])
		m, err = b.loop(ctx, n, b.put)
	case name == "range":
		m, err = b.loop(ctx, listers, b.list)
	case name == "get":
		m, err = b.loop(ctx, getters, b.get)
	case name == "watch100":
		m, err = b.independent(ctx)
	default:
		m, err = b.fanOut(ctx, []target{b.t}, []string{leases})
	}
	if b.o.verbose {
		took := time.Since(start).Seconds()
		server, client := (b.cluster.cpu()-server).Seconds()/took, (cpu("self")-client).Seconds()/took
		fmt.Fprintf(os.Stderr, "%-7s %d %-14s %9.0f/s p99 %8.3f ms   CPU: servers %.2f, client %.2f, %.1f us each\n", b.kind, len(b.cluster.members), name,
			m.perSecond, ms(m.p99), server, client, 1e6*(server+client)/m.perSecond)
	}
	return m, err
}

// loop has n callers call op one after another, a warm-up first, and measures.
func (b *bench) loop(ctx context.Context, n int, op func(context.Context) error) (measure, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	warm := time.Now().Add(b.o.length / 5)
	end := warm.Add(b.o.length)
	took := make([][]time.Duration, n)
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() {
			for {
				start := time.Now()
				if start.After(end) || ctx.Err() != nil {
					return
				}
				if err := op(ctx); err != nil {
					cancel(err)
					return
				}
				if now := time.Now(); start.After(warm) && !now.After(end) {
					took[i] = append(took[i], now.Sub(start))
				}
			}
		})
	}
	done.Wait()
	if err := context.Cause(ctx); err != nil {
		return measure{}, err
	}
	all := slices.Concat(took...)
	return measure{perSecond: float64(len(all)) / b.o.length.Seconds(), p99: p99(all)}, nil
}

func p99(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)*99/100]
}

// value is a new 1 KB value that begins with the present time.
func value() []byte {
	v := make([]byte, valueSize)
	for i := range v {
		v[i] = byte(i*7 + i>>8)
	}
	binary.BigEndian.PutUint64(v, uint64(time.Now().UnixNano()))
	return v
}

func (b *bench) put(ctx context.Context) error {
	return b.t.put(ctx, podKey(int(b.serial.Add(1))), value())
}

// load puts what the reading cases read, once.
func (b *bench) load(ctx context.Context) error {
	if b.listed {
		return nil
	}
	b.listed = true
	return b.fill(ctx, listKeys, listKey)
}

func podKey(i int) []byte { return fmt.Appendf(nil, "/registry/pods/default/web-%08d", i) }

func listKey(i int) []byte { return fmt.Appendf(nil, "/registry/configmaps/default/settings-%05d", i) }

func (b *bench) list(ctx context.Context) error {
	n, err := b.t.list(ctx, []byte("/registry/configmaps/"))
	if err == nil && n != listKeys {
		err = fmt.Errorf("%d keys instead of %d", n, listKeys)
	}
	return err
}

func (b *bench) get(ctx context.Context) error {
	found, err := b.t.get(ctx, listKey(int(b.serial.Add(1))%listKeys))
	if err == nil && !found {
		err = errors.New("a key that was put is not there")
	}
	return err
}

// fill puts n keys, many at a time.
func (b *bench) fill(ctx context.Context, n int, key func(int) []byte) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var done sync.WaitGroup
	for range fillers {
		done.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := b.t.put(ctx, key(i), value()); err != nil {
					cancel(err)
				}
			}
		})
	}
	done.Wait()
	return context.Cause(ctx)
}

// leases is the prefix of the keys that watchers see.
const leases = "/registry/leases/"

// independent watchers have nothing that a client could share: several clients, and on each one watches of different
// prefixes, which all hold the same keys.
func (b *bench) independent(ctx context.Context) (measure, error) {
	var clients []target
	for range watchClients {
		t, err := dial(b.kind, b.cluster.clients())
		if err != nil {
			return measure{}, err
		}
		defer t.close()
		clients = append(clients, t)
	}
	var prefixes []string
	for i := range watchers / watchClients {
		prefixes = append(prefixes, leases[:len(leases)-i])
	}
	return b.fanOut(ctx, clients, prefixes)
}

// fanOut has watchers follow the same keys while writers put as fast as they can, and measures until every watcher has every
// event. Watchers take turns with clients and prefixes. The latency is that from before the put to the event.
func (b *bench) fanOut(ctx context.Context, clients []target, prefixes []string) (measure, error) {
	events := watchEvents
	if b.o.short {
		events /= 10
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var created, watching, writing sync.WaitGroup
	took := make([][]time.Duration, watchers)
	created.Add(watchers)
	full := errors.New("all events are there")
	for i := range watchers {
		watching.Go(func() {
			mine, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			took[i] = make([]time.Duration, 0, events)
			err := clients[i%len(clients)].watch(mine, []byte(prefixes[i/len(clients)%len(prefixes)]), created.Done, func(v []byte) {
				took[i] = append(took[i], time.Duration(time.Now().UnixNano()-int64(binary.BigEndian.Uint64(v))))
				if len(took[i]) == events {
					stop(full)
				}
			})
			if context.Cause(mine) != full {
				cancel(fmt.Errorf("a watch ended after %d events: %w", len(took[i]), err))
			}
		})
	}
	ready := make(chan struct{})
	go func() { created.Wait(); close(ready) }()
	select {
	case <-ready:
	case <-ctx.Done():
		return measure{}, context.Cause(ctx)
	}
	start := time.Now()
	var next atomic.Int64
	for range watchWriters {
		writing.Go(func() {
			for {
				n := next.Add(1)
				if n > int64(events) || ctx.Err() != nil {
					return
				}
				if err := b.t.put(ctx, fmt.Appendf(nil, leases+"node-%d", n), value()); err != nil {
					cancel(err)
				}
			}
		})
	}
	writing.Wait()
	watching.Wait()
	length := time.Since(start)
	if err := context.Cause(ctx); err != nil {
		return measure{}, err
	}
	return measure{perSecond: float64(events*watchers) / length.Seconds(), p99: p99(slices.Concat(took...))}, nil
}

// rss loads many keys and asks what the processes hold when they have come to rest.
func (b *bench) rss(ctx context.Context, turn int) (measure, error) {
	keys := rssKeys
	if b.o.short {
		keys /= 10
	}
	if err := b.fill(ctx, keys, podKey); err != nil {
		return measure{}, err
	}
	if b.o.profiles != "" {
		b.heap(filepath.Join(b.o.profiles, fmt.Sprintf("%s-rss-%d", b.kind, turn)))
	}
	n, err := b.cluster.resident()
	if b.o.verbose {
		fmt.Fprintf(os.Stderr, "%-7s %d rss      %9d MB\n", b.kind, len(b.cluster.members), n>>20)
	}
	return measure{bytes: n}, err
}
