package main

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

type storeOptions struct {
	identityOptions
	name, dataDir, logStore, listen, advertise, raftListen, raftAdvertise string
	members                                                               []string
	join                                                                  bool
	quota, retentionRevisions                                             int64
	retention, checkInterval, stallLimit                                  time.Duration
	snapshotEntries, trailingEntries                                      uint64
}

func (o *storeOptions) bind(flags *pflag.FlagSet) {
	o.identityOptions.bind(flags)
	flags.StringVar(&o.name, "name", store.DefaultName, "name of this member, unique in the cluster and for good")
	flags.StringVar(&o.dataDir, "data-dir", "/var/lib/orrery/store", "folder for log and snapshots")
	flags.StringVar(&o.logStore, "log-store", "", "kind of the log in a new data folder: boltdb or wal; empty means boltdb, or that of an existing folder")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:2379", "host:port to serve clients on")
	flags.StringVar(&o.advertise, "advertise", "", "host:port by which clients reach this member; --listen when empty")
	flags.StringVar(&o.raftListen, "raft-listen", "127.0.0.1:2380", "host:port to serve the other members on")
	flags.StringVar(&o.raftAdvertise, "raft-advertise", "", "host:port by which the other members reach this one; --raft-listen when empty")
	flags.StringSliceVar(&o.members, "initial-member", nil, "member of a new cluster as NAME=HOST:PORT with its Raft port, this one among them; none means this one alone")
	flags.BoolVar(&o.join, "join", false, "wait to be added to an existing cluster")
	flags.Int64Var(&o.quota, "quota-bytes", 0, "bound on the size of the data; 0 means 4 GiB")
	flags.DurationVar(&o.retention, "retention", 0, "how long history is kept; 0 means 5 minutes, negative for ever")
	flags.Int64Var(&o.retentionRevisions, "retention-revisions", 0, "how many revisions of history are kept at most; 0 means any number")
	flags.DurationVar(&o.checkInterval, "check-interval", 0, "how often the leader compares the content of all members; 0 means a minute, negative never")
	flags.DurationVar(&o.stallLimit, "stall-limit", 0, "how long a write to disk may take before this member stops serving and lets another one lead; 0 means 10 s")
	flags.Uint64Var(&o.snapshotEntries, "snapshot-entries", 0, "log entries between snapshots; 0 suits their size")
	flags.Uint64Var(&o.trailingEntries, "trailing-entries", 0, "log entries kept behind a snapshot for members that lag; 0 suits their size")
}

func (o *storeOptions) build(logger *slog.Logger) (runner, error) {
	layout := o.layout()
	server, err := layout.ServerTLS(pki.Store)
	if err != nil {
		return nil, err
	}
	client, err := layout.ClientTLS(pki.Store, "localhost")
	if err != nil {
		return nil, err
	}
	logStore, err := raftnode.ParseLogStore(o.logStore)
	if err != nil {
		return nil, fmt.Errorf("--log-store: %w", err)
	}
	var members []store.Member
	for _, m := range o.members {
		name, address, ok := strings.Cut(m, "=")
		if !ok {
			return nil, fmt.Errorf("--initial-member %q: want NAME=HOST:PORT", m)
		}
		members = append(members, store.Member{Name: name, RaftAddr: address})
	}
	store.TuneMemory()
	return store.New(store.Config{
		Name: o.name, DataDir: o.dataDir, LogStore: logStore, ListenAddr: o.listen, AdvertiseAddr: o.advertise, RaftAddr: o.raftListen, RaftAdvertiseAddr: o.raftAdvertise,
		InitialMembers: members, Join: o.join, TLS: &store.TLS{Server: server, Client: client},
		QuotaBytes: o.quota, Retention: o.retention, HistoryRevisions: o.retentionRevisions, CheckInterval: o.checkInterval, StallLimit: o.stallLimit,
		SnapshotEntries: o.snapshotEntries, TrailingEntries: o.trailingEntries, Version: version(), Logger: logger, Metrics: telemetry.Registerer(),
	})
}
