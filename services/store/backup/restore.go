package backup

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

// RestoreOptions say what a snapshot is restored into.
type RestoreOptions struct {
	// DataDir is the store's data folder of the member; it must be empty or not exist.
	DataDir string
	// Name is the member's. Members are all of the new cluster, this one among them. Each of them restores the same file
	// with the same options, but for name and folder.
	Name    string
	Members []raftnode.Peer
	// Bump is by how much revisions move on; 0 means mvcc.RestoreStep. It must be more than the old cluster handed out
	// after the snapshot, so that no client takes an old revision for one of the new cluster.
	Bump int64
}

// Restored describes a folder that Restore made.
type Restored struct {
	// From is the file, Revision the first one of the new cluster: everything before counts as compacted.
	From     *Info  `json:"from"`
	DataDir  string `json:"dataDir"`
	Revision int64  `json:"revision"`
}

// Restore makes the data folder of a member of a new cluster from a snapshot file. The file is verified to its last byte
// before anything is written; a folder that was left half-made by a crash is refused when the member starts.
func Restore(file string, o RestoreOptions) (*Restored, error) {
	if o.Bump == 0 {
		o.Bump = mvcc.RestoreStep
	}
	if o.Bump < 0 {
		return nil, fmt.Errorf("revisions cannot move back by %d: give a positive step", -o.Bump)
	}
	if err := raftnode.CheckSeedable(o.DataDir); err != nil {
		return nil, err
	}
	var state *mvcc.State
	info, err := read(file, func(r io.Reader) (err error) {
		state, _, err = mvcc.Restore(r)
		return err
	})
	if err != nil {
		return nil, err
	}
	state.Supersede(mvcc.Stats{}, nil, o.Bump)
	err = raftnode.Seed(raftnode.SeedConfig{Name: o.Name, DataDir: o.DataDir, Members: o.Members, Origin: info.SHA256}, state)
	if errors.Is(err, os.ErrPermission) {
		err = fmt.Errorf("%w: run this as the user that runs the store", err)
	}
	if err != nil {
		return nil, err
	}
	return &Restored{From: info, DataDir: o.DataDir, Revision: state.Stats().Revision}, nil
}
