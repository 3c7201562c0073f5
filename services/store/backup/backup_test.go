package backup_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store/backup"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

// content is a snapshot of 20 living keys and a deleted one at revision 24.
func content(t *testing.T) []byte {
	t.Helper()
	s := mvcc.New()
	txn := func(ops ...kv.Op) {
		if _, err := s.Txn(&kv.TxnRequest{Then: ops}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.GrantLease(7, 60); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		txn(kv.Op{Put: &kv.PutRequest{Key: fmt.Appendf(nil, "/registry/pods/default/web-%02d", i), Value: bytes.Repeat([]byte("x"), 1000)}})
	}
	txn(kv.Op{Put: &kv.PutRequest{Key: []byte("/registry/gone"), Lease: 7}})
	txn(kv.Op{Put: &kv.PutRequest{Key: []byte("/registry/pods/default/web-00"), Value: []byte("again")}})
	txn(kv.Op{Delete: &kv.DeleteRequest{Key: []byte("/registry/gone")}})
	var b bytes.Buffer
	if err := s.Snapshot().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// padded is a snapshot as etcd's clients keep it.
func padded(content []byte) []byte {
	b := append(bytes.Clone(content), make([]byte, (512-len(content)%512)%512)...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

func file(t *testing.T, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "store.snapshot")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestSaveDescribesWhatItWrote(t *testing.T) {
	data := content(t)
	name := filepath.Join(t.TempDir(), "store.snapshot")
	for range 2 { // the second takes the first one's place
		info, err := backup.Save(name, func(w io.Writer) error { _, err := w.Write(data); return err })
		if err != nil {
			t.Fatal(err)
		}
		if info.File != name || info.Container != backup.ContainerPlain || info.Revision != 24 || info.Keys != 20 || info.Versions != 23 || info.Leases != 1 ||
			info.SizeBytes != int64(len(data)) || info.SHA256 != fmt.Sprintf("%x", sha256.Sum256(data)) {
			t.Fatalf("%+v", info)
		}
	}
	etcd, err := backup.Inspect(file(t, padded(data)))
	if err != nil {
		t.Fatal(err)
	}
	if etcd.Container != backup.ContainerPadded || etcd.SHA256 != fmt.Sprintf("%x", sha256.Sum256(data)) || etcd.Keys != 20 {
		t.Fatalf("%+v", etcd)
	}
}

// TestSaveKeepsTheLastGoodFile: a stream that ends early or breaks leaves the file of the last time, and nothing else.
func TestSaveKeepsTheLastGoodFile(t *testing.T) {
	data := content(t)
	name := filepath.Join(t.TempDir(), "store.snapshot")
	write := func(d []byte, fail error) error {
		_, err := backup.Save(name, func(w io.Writer) error { _, err := w.Write(d); return errors.Join(err, fail) })
		return err
	}
	if err := write(data, nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("the member went away")
	if err := write(data[:100], broken); !errors.Is(err, broken) {
		t.Fatalf("got %v, want %v", err, broken)
	}
	if err := write(data[:len(data)-1], nil); !errors.Is(err, mvcc.ErrSnapshotDamaged) {
		t.Fatalf("a stream that ended early got %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Fatalf("the folder holds %v (%v)", entries, err)
	}
	if info, err := backup.Inspect(name); err != nil || info.Keys != 20 {
		t.Fatalf("the last good file: %+v, %v", info, err)
	}
}

// TestDamageIsFound flips each byte and cuts at each length, of both containers.
func TestDamageIsFound(t *testing.T) {
	plain := content(t)
	for container, data := range map[string][]byte{"plain": plain, "padded": padded(plain)} {
		t.Run(container, func(t *testing.T) {
			name := file(t, data)
			check := func(what string, bad []byte) {
				if err := os.WriteFile(name, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				var damaged *backup.DamagedError
				if info, err := backup.Inspect(name); !errors.As(err, &damaged) || !strings.Contains(err.Error(), name) {
					t.Fatalf("%s: got %+v, %v", what, info, err)
				}
			}
			for i := 0; i < len(data); i += 1 + len(data)/400 {
				bad := bytes.Clone(data)
				bad[i] ^= 0x10
				check(fmt.Sprintf("byte %d flipped", i), bad)
				// A padded file that ends with the snapshot itself is a whole plain one.
				if i != len(plain) {
					check(fmt.Sprintf("cut at %d", i), data[:i])
				}
			}
			check("a byte too many", append(bytes.Clone(data), 0))
		})
	}
	bolt := make([]byte, 4096)
	copy(bolt[16:], []byte{0xed, 0xda, 0x0c, 0xed})
	if _, err := backup.Inspect(file(t, bolt)); err == nil || !strings.Contains(err.Error(), "bolt database") {
		t.Errorf("a bolt file got %v", err)
	}
}

func TestRestoreRefuses(t *testing.T) {
	good := file(t, content(t))
	bad := content(t)
	bad[len(bad)/2] ^= 1
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "raft.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	one := []raftnode.Peer{{Name: "a", Address: "127.0.0.1:1"}}
	for name, c := range map[string]struct {
		file string
		o    backup.RestoreOptions
		want string
	}{
		"damaged file":     {file(t, bad), backup.RestoreOptions{DataDir: "new", Name: "a", Members: one}, "damaged"},
		"no file":          {filepath.Join(full, "none"), backup.RestoreOptions{DataDir: "new", Name: "a", Members: one}, "no such file"},
		"folder in use":    {good, backup.RestoreOptions{DataDir: full, Name: "a", Members: one}, "is not empty (it holds raft.db)"},
		"no folder":        {good, backup.RestoreOptions{Name: "a", Members: one}, "no data folder"},
		"not a member":     {good, backup.RestoreOptions{DataDir: "new", Name: "b", Members: one}, `do not include this member, "b"`},
		"same address":     {good, backup.RestoreOptions{DataDir: "new", Name: "a", Members: append(one, raftnode.Peer{Name: "b", Address: "127.0.0.1:1"})}, "share a name or an address"},
		"revisions back":   {good, backup.RestoreOptions{DataDir: "new", Name: "a", Members: one, Bump: -1}, "positive"},
		"folder of a file": {good, backup.RestoreOptions{DataDir: filepath.Join(full, "raft.db"), Name: "a", Members: one}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.o.DataDir == "new" {
				c.o.DataDir = filepath.Join(t.TempDir(), "new")
			}
			if _, err := backup.Restore(c.file, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want one with %q", err, c.want)
			}
			if _, err := os.Stat(c.o.DataDir); filepath.Base(c.o.DataDir) == "new" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder was made: %v", err)
			}
		})
	}
}
