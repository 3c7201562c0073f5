package raftnode

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// memberFile says whose folder it is.
const memberFile = "member.json"

// identity is who a data folder belongs to: one member of one cluster. Members of different clusters do not talk to each
// other, whatever their addresses: a cluster that was made from a snapshot, or of the member that was left, would
// otherwise be taken over by members of the one before that come back with a longer log and a majority of their own.
type identity struct {
	path string
	name string
	mu   sync.Mutex // held while the file is written
	// cluster is 0 while it is not known: a member that waits to be added takes that of the first peer that has one.
	cluster atomic.Uint64
	// log is the kind of the log that the folder is known to have, empty before it has one.
	log LogStore
}

// identityFile is the file's content.
type identityFile struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster,omitempty"`
	// Log is the kind of the log; it is named once the log is there.
	Log LogStore `json:"log,omitempty"`
	// Sum is the CRC-32C of the other fields. A file that was written by hand may be without it.
	Sum string `json:"sum,omitempty"`
}

func (f identityFile) sum() string {
	return checksumLine(fmt.Appendf(nil, "%q %q %q", f.Name, f.Cluster, f.Log))
}

// openIdentity makes sure that a folder is used by the member that made it: under another name its votes and its log
// would be those of a stranger. A folder without the file is nobody's yet: missing.
func openIdentity(dir, name string) (_ *identity, missing bool, _ error) {
	id := &identity{path: filepath.Join(dir, memberFile), name: name}
	data, err := os.ReadFile(id.path)
	if errors.Is(err, os.ErrNotExist) {
		return id, true, nil
	}
	var have identityFile
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		err = dec.Decode(&have)
	}
	if err == nil && have.Sum != "" && have.Sum != have.sum() {
		err = errors.New("its checksum is wrong")
	}
	if err == nil {
		id.log, err = ParseLogStore(string(have.Log))
	}
	var cluster uint64
	if err == nil && have.Cluster != "" {
		cluster, err = strconv.ParseUint(have.Cluster, 16, 64)
	}
	if err == nil && have.Name == "" {
		err = errors.New("it has no name")
	}
	if err != nil {
		return nil, false, fmt.Errorf("the file %s, which says whose data folder it is in, cannot be read: %w: write {\"name\":%q} into it if the folder is that of this member, else use another folder", id.path, err, name)
	}
	if have.Name != name {
		return nil, false, fmt.Errorf("the data folder %s belongs to store member %q, this one is named %q: use that name or another folder", dir, have.Name, name)
	}
	id.cluster.Store(cluster)
	return id, false, nil
}

// setLog notes that the folder has a log.
func (id *identity) setLog(kind LogStore) error {
	if id.log == kind {
		return nil
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	id.log = kind
	return id.writeLocked(id.cluster.Load())
}

// write keeps the identity; it is on disk when it returns. A peer may tell of the cluster at the same time.
func (id *identity) write(cluster uint64) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.writeLocked(cluster)
}

func (id *identity) writeLocked(cluster uint64) error {
	f := identityFile{Name: id.name, Log: id.log}
	if cluster != 0 {
		f.Cluster = clusterString(cluster)
	}
	f.Sum = f.sum()
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := writeFile(id.path, append(data, '\n')); err != nil {
		return fmt.Errorf("keeping the identity of the store member: %w", err)
	}
	id.cluster.Store(cluster)
	return nil
}

// accepts says whether a peer that says that it is of a cluster is of this one; 0 is a peer that does not know.
func (id *identity) accepts(cluster uint64) (bool, error) {
	mine := id.cluster.Load()
	if mine == cluster || cluster == 0 {
		return true, nil
	}
	if mine != 0 {
		return false, nil
	}
	id.mu.Lock()
	defer id.mu.Unlock()
	if mine = id.cluster.Load(); mine == 0 {
		return true, id.writeLocked(cluster)
	}
	return mine == cluster, nil
}

// ClusterID is a number that the members of one cluster share and those of no other have; 0 while this member waits to
// be added to one.
func (n *Node) ClusterID() uint64 { return n.identity.cluster.Load() }

// ClusterName is ClusterID as people see it, empty while there is none.
func (n *Node) ClusterName() string {
	if id := n.ClusterID(); id != 0 {
		return clusterString(id)
	}
	return ""
}

// clusterString is how people see the number.
func clusterString(id uint64) string { return fmt.Sprintf("%016x", id) }

// newCluster numbers a new cluster. One of several members gets the same number on each of them; one of a single member
// gets a number that nothing else has. origin is what it was made from.
func newCluster(members []Peer, origin string) uint64 {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", origin)
	if len(members) == 1 {
		var b [16]byte
		_, _ = rand.Read(b[:]) // does not fail
		h.Write(b[:])
	}
	for _, p := range slices.SortedFunc(slices.Values(members), func(a, b Peer) int { return cmpName(a, b) }) {
		fmt.Fprintf(h, "%q %q\n", p.Name, p.Address)
	}
	return max(binary.BigEndian.Uint64(h.Sum(nil)), 1)
}

func cmpName(a, b Peer) int {
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}

// writeFile replaces a small file: whatever happens, the old or the new content is there.
func writeFile(path string, data []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// makeFolder makes a folder, and those above it that are missing, so that they last.
func makeFolder(dir string) error {
	var parents []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, os.ErrNotExist) {
			break
		}
		parents = append(parents, filepath.Dir(at))
	}
	if err := os.MkdirAll(dir, wantedFolderMode); err != nil {
		return err
	}
	for _, p := range parents {
		if err := syncDir(p); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the names in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
