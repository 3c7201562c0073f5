package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	_ "net/http/pprof" // the parent takes profiles
	"net/url"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

// member is what a child is told about itself.
type member struct {
	kind, name, dir, client, peer string
	// initial is name=host:port of each member's port for peers, with commas.
	initial  string
	pprof    string
	logStore string
}

func (m *member) args() []string {
	return []string{"serve", "--kind", m.kind, "--name", m.name, "--dir", m.dir, "--client", m.client, "--peer", m.peer,
		"--initial", m.initial, "--pprof", m.pprof, "--log-store", m.logStore}
}

// serve runs one member until its standard input ends, so that it ends with its parent whatever happens to that. It says
// "ready" on standard output.
func serve(ctx context.Context, args []string) error {
	m := &member{}
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.StringVar(&m.kind, "kind", "", "orrery or etcd")
	fs.StringVar(&m.name, "name", "", "the member's name")
	fs.StringVar(&m.dir, "dir", "", "data folder")
	fs.StringVar(&m.client, "client", "", "address for clients")
	fs.StringVar(&m.peer, "peer", "", "address for peers")
	fs.StringVar(&m.initial, "initial", "", "all members")
	fs.StringVar(&m.pprof, "pprof", "", "address of the profiles, empty for none")
	fs.StringVar(&m.logStore, "log-store", "", "Orrery's log store")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if m.pprof != "" {
		l, err := net.Listen("tcp", m.pprof)
		if err != nil {
			return err
		}
		go http.Serve(l, nil) //nolint:errcheck // ends with the process
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // any end will do
		stop()
	}()
	switch m.kind {
	case "etcd":
		return m.etcd(ctx)
	case "orrery":
		return m.orrery(ctx)
	}
	return fmt.Errorf("there is no store of kind %q", m.kind)
}

func (m *member) etcd(ctx context.Context) error {
	cfg := embed.NewConfig()
	cfg.Name, cfg.Dir, cfg.LogLevel = m.name, m.dir, "fatal" // it logs errors about its own orderly end
	client, peer := url.URL{Scheme: "http", Host: m.client}, url.URL{Scheme: "http", Host: m.peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.InitialCluster = ""
	for p := range strings.SplitSeq(m.initial, ",") {
		name, addr, _ := strings.Cut(p, "=")
		if cfg.InitialCluster != "" {
			cfg.InitialCluster += ","
		}
		cfg.InitialCluster += name + "=http://" + addr
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	select {
	case <-e.Server.ReadyNotify():
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(30 * time.Second):
		return errors.New("etcd was not ready within 30 s")
	}
	fmt.Println("ready")
	select {
	case <-ctx.Done():
		return nil
	case err := <-e.Err():
		return err
	}
}

func (m *member) orrery(ctx context.Context) error {
	store.TuneMemory() // as the store's own command does
	cfg := store.Config{
		Name: m.name, DataDir: m.dir, ListenAddr: m.client, RaftAddr: m.peer,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	kind, err := raftnode.ParseLogStore(m.logStore)
	if err != nil {
		return err
	}
	cfg.LogStore = kind
	for p := range strings.SplitSeq(m.initial, ",") {
		name, addr, _ := strings.Cut(p, "=")
		cfg.InitialMembers = append(cfg.InitialMembers, store.Member{Name: name, RaftAddr: addr})
	}
	s, err := store.New(cfg)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	select {
	case <-s.Ready():
		fmt.Println("ready")
		return <-done
	case err := <-done:
		return err
	}
}
