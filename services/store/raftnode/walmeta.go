package raftnode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft-wal/types"
)

// walMetaFile lists the segments and holds the votes: one line of JSON after its CRC-32C in hexadecimal.
const walMetaFile = "meta"

// walMeta is that file. It is small and seldom written, so it is replaced whole.
type walMeta struct {
	path string
	mu   sync.Mutex
	walMetaContent
}

type walMetaContent struct {
	Log    types.PersistentState
	Stable map[string][]byte
	// Segments counts the segments that are known to be on disk, by their ids: those below it.
	Segments uint64
}

// loadWALMeta reads the file, or makes it unless it is old.
func loadWALMeta(dir string, old bool) (*walMeta, error) {
	m := &walMeta{path: filepath.Join(dir, walMetaFile), walMetaContent: walMetaContent{Stable: map[string][]byte{}}}
	data, err := os.ReadFile(m.path)
	switch {
	case errors.Is(err, os.ErrNotExist) && !old:
		return m, m.save()
	case errors.Is(err, os.ErrNotExist):
		return nil, damaged(m.path, "it is missing")
	case err != nil:
		return nil, fmt.Errorf("the store's data folder is not readable: %w: check its owner and permissions", err)
	}
	sum, body, ok := bytes.Cut(data, []byte{'\n'})
	if !ok || string(sum) != checksumLine(body) {
		return nil, damaged(m.path, "its checksum is wrong")
	}
	if err := json.Unmarshal(body, &m.walMetaContent); err != nil {
		return nil, damaged(m.path, "it is not what this version writes: %v", err)
	}
	if m.Stable == nil {
		m.Stable = map[string][]byte{}
	}
	return m, nil
}

func checksumLine(body []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) }

func (m *walMeta) save() error {
	body, err := json.Marshal(&m.walMetaContent)
	if err != nil {
		return err
	}
	return writeFile(m.path, fmt.Appendf(nil, "%s\n%s", checksumLine(body), body))
}

// change saves what fn does to the content.
func (m *walMeta) change(fn func(c *walMetaContent)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn(&m.walMetaContent)
	return m.save()
}

func (m *walMeta) noteSegment(id uint64) error {
	return m.change(func(c *walMetaContent) { c.Segments = max(c.Segments, id+1) })
}

// Load implements types.MetaStore; the folder is that of the file.
func (m *walMeta) Load(string) (types.PersistentState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Log, nil
}

// CommitState implements types.MetaStore.
func (m *walMeta) CommitState(s types.PersistentState) error {
	return m.change(func(c *walMetaContent) { c.Log = s })
}

// GetStable implements types.MetaStore.
func (m *walMeta) GetStable(key []byte) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Stable[string(key)], nil
}

// SetStable implements types.MetaStore.
func (m *walMeta) SetStable(key, value []byte) error {
	return m.change(func(c *walMetaContent) { c.Stable[string(key)] = bytes.Clone(value) })
}

// Close implements types.MetaStore.
func (m *walMeta) Close() error { return nil }
