package raftnode

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/raft"

	"github.com/orrery-io/orrery/services/store/mvcc"
)

// unfinishedFile stands in a data folder while something that must be done whole is done to it.
const unfinishedFile = "unfinished"

// seedIndex and seedTerm are the log index and the term of the snapshot that a seeded member begins with. Every member of
// the cluster begins with the same one.
const seedIndex, seedTerm = 1, 1

// SeedConfig is a new cluster that begins with a state.
type SeedConfig struct {
	Name    string
	DataDir string
	// Members are those of the new cluster, this one among them.
	Members []Peer
	// Origin names what the state was made from, for the number of the cluster: members that were given different origins
	// do not talk to each other.
	Origin string
}

func (c *SeedConfig) validate() error {
	if c.Name == "" {
		return errors.New("the store member has no name: set one")
	}
	self := false
	for i, p := range c.Members {
		if p.Name == "" || p.Address == "" {
			return fmt.Errorf("initial member %q at %q needs both a name and an address", p.Name, p.Address)
		}
		for _, q := range c.Members[:i] {
			if p.Name == q.Name || p.Address == q.Address {
				return fmt.Errorf("initial members %s=%s and %s=%s share a name or an address: each needs its own", q.Name, q.Address, p.Name, p.Address)
			}
		}
		self = self || p.Name == c.Name
	}
	if !self {
		return fmt.Errorf("the initial members do not include this member, %q: name it there", c.Name)
	}
	return nil
}

// CheckSeedable says why a folder cannot become a member's data folder.
func CheckSeedable(dir string) error {
	if dir == "" {
		return errors.New("the store has no data folder: set one")
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the data folder cannot be read: %w", err)
	}
	if err := checkFinished(dir); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != "lost+found" && e.Name() != lockFile { // the first is a file system's own
			return fmt.Errorf("the data folder %s is not empty (it holds %s): a restore makes a new one: move that away or choose another folder", dir, e.Name())
		}
	}
	return nil
}

// Seed fills an empty data folder for a member of a new cluster that begins with state. It is written whole or, when it
// is interrupted, refused by Open.
func Seed(c SeedConfig, state *mvcc.State) error {
	if err := c.validate(); err != nil {
		return err
	}
	if err := CheckSeedable(c.DataDir); err != nil {
		return err
	}
	if err := makeFolder(c.DataDir); err != nil {
		return fmt.Errorf("the store's data folder cannot be made: %w: check the path and its permissions", err)
	}
	if err := beginUnfinished(c.DataDir, "a restore", "remove everything in the folder and restore again"); err != nil {
		return err
	}
	if err := seed(c, newCluster(c.Members, c.Origin), state); err != nil {
		return fmt.Errorf("making the data folder %s: %w", c.DataDir, err)
	}
	return endUnfinished(c.DataDir)
}

// seed writes the member's identity and a Raft snapshot that holds the state and the cluster's configuration.
func seed(c SeedConfig, cluster uint64, state *mvcc.State) error {
	id := &identity{path: filepath.Join(c.DataDir, memberFile), name: c.Name}
	if err := id.write(cluster); err != nil {
		return err
	}
	snapshots, err := openSnapshots(c.DataDir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	var members raft.Configuration
	for _, p := range c.Members {
		members.Servers = append(members.Servers, raft.Server{ID: raft.ServerID(p.Name), Address: raft.ServerAddress(p.Address)})
	}
	_, trans := raft.NewInmemTransport("") // only to encode addresses
	sink, err := snapshots.Create(raft.SnapshotVersionMax, seedIndex, seedTerm, members, seedIndex, trans)
	if err != nil {
		return err
	}
	snap := state.Snapshot()
	snap.AppliedIndex = seedIndex
	if err := (persister{snap}).Persist(sink); err != nil {
		return err
	}
	return errors.Join(trans.Close(), syncDir(filepath.Join(c.DataDir, snapshotDir)), syncDir(c.DataDir))
}

// beginUnfinished marks a folder: until endUnfinished, Open refuses it, naming what was begun and the remedy.
func beginUnfinished(dir, what, remedy string) error {
	text := fmt.Sprintf("%s of this folder was begun at %s and did not end: %s\n", what, time.Now().UTC().Format(time.RFC3339), remedy)
	if err := writeFile(filepath.Join(dir, unfinishedFile), []byte(text)); err != nil {
		return fmt.Errorf("the store's data folder is not writable: %w: check its owner and permissions", err)
	}
	return nil
}

func endUnfinished(dir string) error {
	return errors.Join(os.Remove(filepath.Join(dir, unfinishedFile)), syncDir(dir))
}

// checkFinished refuses a folder that beginUnfinished has marked.
func checkFinished(dir string) error {
	path := filepath.Join(dir, unfinishedFile)
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil // there is no folder yet
	case err != nil:
		return fmt.Errorf("the store's data folder cannot be read: %w", err)
	}
	return fmt.Errorf("the data folder %s is half-made: %s", dir, trimLine(text))
}

// finishInterrupted takes the mark off a folder when it was left by what is about to be done again.
func finishInterrupted(dir, what string) error {
	text, err := os.ReadFile(filepath.Join(dir, unfinishedFile))
	if err == nil && strings.HasPrefix(string(text), what+" of this folder") {
		return endUnfinished(dir)
	}
	return nil
}

func trimLine(b []byte) string {
	if i := slices.Index(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
