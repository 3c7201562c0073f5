package store

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/server"
)

// Member names a member of the cluster and the host:port of its Raft port.
type Member struct {
	Name, RaftAddr string
}

// TLS secures both ports. Server and Client are used on the port for peers, Server on that for clients; Server must
// ask for client certificates.
type TLS struct {
	Server, Client *tls.Config
}

// Config of the service.
type Config struct {
	// Name of this member, unique in the cluster and for good; default DefaultName.
	Name string
	// DataDir holds the log and the snapshots; one process at a time uses it.
	DataDir string
	// LogStore is the kind of the log of a new data folder, raftnode.LogBolt or raftnode.LogWAL; empty means
	// raftnode.DefaultLogStore, or that of an existing folder, which keeps the one that it has.
	LogStore raftnode.LogStore
	// ListenAddr serves clients, AdvertiseAddr is how they reach it; the default is the address listened on.
	ListenAddr, AdvertiseAddr string
	// RaftAddr serves the other members, RaftAdvertiseAddr is how they reach it. The default is a free loopback port, good
	// for a cluster of one.
	RaftAddr, RaftAdvertiseAddr string
	// InitialMembers are the members of a new cluster, this one among them; empty means this one alone. Join starts a
	// member that waits to be added to an existing cluster. Neither matters once the data folder holds state.
	InitialMembers []Member
	Join           bool
	// TLS nil means plaintext: for tests alone.
	TLS *TLS
	// AllowedClients decides, with TLS, which client certificates may call, AllowedPeers which may be members. Defaults:
	// server.AllowedClient and server.AllowedPeer.
	AllowedClients, AllowedPeers func(*x509.Certificate) bool

	// QuotaBytes bounds the size of the data with its history; 0 means 4 GiB.
	QuotaBytes int64
	// Retention is for how long history is kept (default 5 minutes, negative for ever), HistoryBytes how much of it at
	// most (default 256 MiB, negative without limit).
	Retention    time.Duration
	HistoryBytes int64
	// HistoryRevisions bounds the history by the number of revisions; 0 means no such bound.
	HistoryRevisions int64
	// ProgressInterval is that of progress notices to idle watches; default 5 s.
	ProgressInterval time.Duration
	// ElectionTimeout is for how long a member hears nothing from the leader before it stands for election; the default
	// is 1 s. A member that is alone does not wait, nor do the others when the leader's process has ended.
	ElectionTimeout time.Duration
	// StallLimit is for how long a write to disk or the state machine may take before the member counts as stuck, stops
	// serving and, when it leads others, lets another one lead; default 10 s.
	StallLimit time.Duration
	// CheckInterval is how often the leader compares the content of all members; default 1 min, negative never.
	CheckInterval time.Duration
	// SnapshotEntries is how many log entries there are between snapshots, TrailingEntries how many stay behind one for
	// members that lag; 0 means defaults that suit the entries' size.
	SnapshotEntries, TrailingEntries uint64
	// DrainTimeout is how long calls may take to end when the service stops; default 5 s.
	DrainTimeout time.Duration

	// Version is that of the program, for those who look at the member.
	Version string

	Clock  clock.WithTicker
	Logger *slog.Logger
	// Metrics receives the service's Prometheus metrics; nil means none.
	Metrics prometheus.Registerer
}

// DefaultName is the name of a member that was given none.
const DefaultName = "store-0"

func (c *Config) complete() error {
	if c.Name == "" {
		c.Name = DefaultName
	}
	if c.DataDir == "" {
		return errors.New("the store has no data folder: set one")
	}
	if c.ListenAddr == "" {
		c.ListenAddr = "127.0.0.1:0"
	}
	if c.RaftAddr == "" {
		c.RaftAddr = "127.0.0.1:0"
	}
	if c.TLS != nil && (c.TLS.Server == nil || c.TLS.Client == nil) {
		return errors.New("the store's TLS needs both a server and a client configuration")
	}
	if c.TLS != nil && c.TLS.Server.ClientAuth < tls.RequireAndVerifyClientCert {
		return errors.New("the store's TLS server configuration must require and verify client certificates")
	}
	if c.AllowedClients == nil {
		c.AllowedClients = server.AllowedClient
	}
	if c.AllowedPeers == nil {
		c.AllowedPeers = server.AllowedPeer
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 5 * time.Second
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("service", "store")
	return nil
}
