package raftnode

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"k8s.io/utils/clock"
)

// Peer is a member of the cluster as its configuration names it.
type Peer struct {
	// Name is unique and never changes.
	Name string
	// Address is the host and port of the member's Raft listener.
	Address string
}

// Config of a member.
type Config struct {
	Name    string
	DataDir string
	// LogStore is the kind of the log of a new data folder; empty means DefaultLogStore. It must be that of an existing
	// one, or empty.
	LogStore LogStore
	// Listener is the port for peers; the node closes it. AdvertiseAddr is how peers reach it, by default its own address.
	Listener      net.Listener
	AdvertiseAddr string
	// ServerTLS and ClientTLS secure the peers' port; both nil means plaintext. AllowPeer decides on the certificate of a
	// peer that passed verification; nil allows all.
	ServerTLS, ClientTLS *tls.Config
	AllowPeer            func(*x509.Certificate) bool
	// InitialMembers are those that a new cluster starts with, this member among them; empty means this member alone.
	// It is used once, when the data folder is empty.
	InitialMembers []Peer
	// Join starts an empty member that waits to be added to an existing cluster.
	Join bool
	// ClientAddress is told to the other members, for lists of members.
	ClientAddress string

	// QuotaBytes bounds the size of all versions kept; 0 means DefaultQuota.
	QuotaBytes int64
	// Retention is for how long history is kept, HistoryBytes how much of it at most; 0 means the defaults, negative off.
	// HistoryRevisions bounds it by the number of revisions; 0 means no such bound.
	Retention        time.Duration
	HistoryBytes     int64
	HistoryRevisions int64
	// CheckInterval is how often the leader compares the members' content; 0 means a minute, negative never.
	CheckInterval time.Duration
	// ProgressInterval is that of progress notices; 0 means DefaultProgressInterval.
	ProgressInterval time.Duration

	// HeartbeatTimeout is for how long a follower hears nothing before it stands for election; 0 means a second. It does not
	// wait when the leader's process has ended, or when it is the only voter. LeaderWait is for how long a request waits for
	// a leader.
	HeartbeatTimeout time.Duration
	LeaderWait       time.Duration
	// StallLimit is for how long a write to disk or the state machine may take before this member counts as stuck; 0 means
	// ten seconds.
	StallLimit time.Duration
	// SnapshotEntries and SnapshotBytes are how much log there is before a snapshot; 0 means the defaults.
	SnapshotEntries uint64
	SnapshotBytes   int64
	// TrailingEntries is how much log is kept behind a snapshot for followers that lag; 0 adapts it to their size.
	TrailingEntries uint64

	// Version is that of the program, for those who look at the member.
	Version string

	Clock  clock.WithTicker
	Logger *slog.Logger
	// RegisterPeerServices adds services to the gRPC server on the peers' port.
	RegisterPeerServices func(*grpc.Server, *Node)
}

// Defaults of Config.
const (
	DefaultQuota            = 4 << 30
	DefaultRetention        = 5 * time.Minute
	DefaultHistoryBytes     = 256 << 20
	DefaultProgressInterval = 5 * time.Second
	defaultLeaderWait       = 5 * time.Second
	defaultHeartbeat        = time.Second
	defaultStallLimit       = 10 * time.Second
	defaultCheckInterval    = time.Minute
	defaultSnapshotEntries  = 8192
	defaultSnapshotBytes    = 128 << 20
)

// complete fills in defaults and reports what is wrong.
func (c *Config) complete() error {
	switch {
	case c.Name == "":
		return errors.New("the store member has no name: set one")
	case c.DataDir == "":
		return errors.New("the store has no data folder: set one")
	case c.Listener == nil:
		return errors.New("the store has no listener for its peers")
	case (c.ServerTLS == nil) != (c.ClientTLS == nil):
		return errors.New("the peers' port needs both a server and a client TLS configuration, or neither")
	case c.Join && len(c.InitialMembers) > 0:
		return errors.New("a member either joins an existing cluster or starts one with initial members, not both")
	}
	if c.AdvertiseAddr == "" {
		c.AdvertiseAddr = c.Listener.Addr().String()
	}
	if len(c.InitialMembers) == 0 && !c.Join {
		c.InitialMembers = []Peer{{Name: c.Name, Address: c.AdvertiseAddr}}
	}
	if host, _, err := net.SplitHostPort(c.AdvertiseAddr); err != nil {
		return fmt.Errorf("the store's address for its peers, %q, is not of the form host:port: %w", c.AdvertiseAddr, err)
	} else if ip := net.ParseIP(host); (ip != nil && ip.IsUnspecified()) && (c.Join || len(c.InitialMembers) > 1) {
		return fmt.Errorf("other members cannot reach this one at %s: set the address that it advertises to its peers", c.AdvertiseAddr)
	}
	self := c.Join
	for _, p := range c.InitialMembers {
		self = self || p.Name == c.Name
		if p.Name == "" || p.Address == "" {
			return fmt.Errorf("initial member %q at %q needs both a name and an address", p.Name, p.Address)
		}
	}
	if !self {
		return fmt.Errorf("the initial members do not include this member, %q: name it there, or join an existing cluster", c.Name)
	}
	setDefault(&c.HeartbeatTimeout, defaultHeartbeat)
	setDefault(&c.StallLimit, defaultStallLimit)
	setDefault(&c.CheckInterval, defaultCheckInterval)
	setDefault(&c.QuotaBytes, DefaultQuota)
	setDefault(&c.Retention, DefaultRetention)
	setDefault(&c.HistoryBytes, DefaultHistoryBytes)
	setDefault(&c.ProgressInterval, DefaultProgressInterval)
	setDefault(&c.LeaderWait, defaultLeaderWait)
	setDefault(&c.SnapshotEntries, defaultSnapshotEntries)
	setDefault(&c.SnapshotBytes, defaultSnapshotBytes)
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = c.Logger.With("member", c.Name)
	return nil
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
