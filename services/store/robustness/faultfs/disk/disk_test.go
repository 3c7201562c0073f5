package disk_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// do applies an operation that must work and returns its inode.
func do(t *testing.T, d *disk.Disk, op disk.Op) uint64 {
	t.Helper()
	if errno := d.Apply(&op); errno != 0 {
		t.Fatalf("%s: %v", op.String(), errno)
	}
	return op.Ino
}

func create(t *testing.T, d *disk.Disk, name string) uint64 {
	t.Helper()
	return do(t, d, disk.Op{Kind: disk.Create, Dir: disk.RootIno, Name: name, Mode: 0o600})
}

func write(t *testing.T, d *disk.Disk, ino uint64, off int64, data string) {
	t.Helper()
	do(t, d, disk.Op{Kind: disk.Write, Ino: ino, Offset: off, Data: []byte(data)})
}

// content is a file's, "-" when there is no such file.
func content(t *testing.T, d *disk.Disk, name string) string {
	t.Helper()
	a, errno := d.Lookup(disk.RootIno, name)
	if errno == syscall.ENOENT {
		return "-"
	}
	buf := make([]byte, a.Size)
	if n, errno := d.Read(a.Ino, 0, buf); errno != 0 || n != len(buf) {
		t.Fatalf("read %d of %d bytes: %v", n, len(buf), errno)
	}
	return string(buf)
}

func TestDropKeepsWhatWasSynced(t *testing.T) {
	for name, c := range map[string]struct {
		journaled bool
		then      func(d *disk.Disk, a uint64)
		want      map[string]string
	}{
		"a write that was not synced": {then: func(d *disk.Disk, a uint64) { write(t, d, a, 1, "XYZ longer") }, want: map[string]string{"a": "abc"}},
		"a write that was": {then: func(d *disk.Disk, a uint64) {
			write(t, d, a, 1, "XYZ longer")
			do(t, d, disk.Op{Kind: disk.Sync, Ino: a})
		}, want: map[string]string{"a": "aXYZ longer"}},
		"a truncation": {then: func(d *disk.Disk, a uint64) { do(t, d, disk.Op{Kind: disk.Truncate, Ino: a}) }, want: map[string]string{"a": "abc"}},
		"a sync that failed": {then: func(d *disk.Disk, a uint64) {
			write(t, d, a, 0, "X")
			do(t, d, disk.Op{Kind: disk.Sync, Ino: a, Failed: true})
			do(t, d, disk.Op{Kind: disk.Sync, Ino: a}) // succeeds and has nothing to write
		}, want: map[string]string{"a": "abc"}},
		"a write after a sync that failed": {then: func(d *disk.Disk, a uint64) {
			write(t, d, a, 0, "X")
			do(t, d, disk.Op{Kind: disk.Sync, Ino: a, Failed: true})
			write(t, d, a, 1, "Y") // makes the page dirty again
			do(t, d, disk.Op{Kind: disk.Sync, Ino: a})
		}, want: map[string]string{"a": "XYc"}},
		"a rename": {then: func(d *disk.Disk, _ uint64) {
			do(t, d, disk.Op{Kind: disk.Rename, Dir: disk.RootIno, Name: "a", NewDir: disk.RootIno, NewName: "b"})
		}, want: map[string]string{"a": "abc", "b": "-"}},
		"a rename with a sync of the folder": {then: func(d *disk.Disk, _ uint64) {
			do(t, d, disk.Op{Kind: disk.Rename, Dir: disk.RootIno, Name: "a", NewDir: disk.RootIno, NewName: "b"})
			do(t, d, disk.Op{Kind: disk.SyncDir, Ino: disk.RootIno})
		}, want: map[string]string{"a": "-", "b": "abc"}},
		"a new file with a sync": {then: func(d *disk.Disk, _ uint64) {
			b := create(t, d, "b")
			write(t, d, b, 0, "b")
			do(t, d, disk.Op{Kind: disk.Sync, Ino: b})
		}, want: map[string]string{"a": "abc", "b": "-"}},
		"a new file with a sync, with a journal": {journaled: true, then: func(d *disk.Disk, _ uint64) {
			b := create(t, d, "b")
			write(t, d, b, 0, "b")
			do(t, d, disk.Op{Kind: disk.Sync, Ino: b})
		}, want: map[string]string{"a": "abc", "b": "b"}},
		"an unlink": {then: func(d *disk.Disk, _ uint64) {
			do(t, d, disk.Op{Kind: disk.Unlink, Dir: disk.RootIno, Name: "a"})
		}, want: map[string]string{"a": "abc"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := disk.New()
			d.Journaled = c.journaled
			a := create(t, d, "a")
			write(t, d, a, 0, "abc")
			d.SyncAll()
			c.then(d, a)
			before := d.Clone()
			d.Crash(disk.Loss{Mode: disk.Drop})
			for name, want := range c.want {
				if got := content(t, d, name); got != want {
					t.Errorf("%s has %q, want %q", name, got, want)
				}
			}
			before.Crash(disk.Loss{Mode: disk.Drop})
			for name, want := range c.want {
				if got := content(t, before, name); got != want {
					t.Errorf("in a clone %s has %q, want %q", name, got, want)
				}
			}
		})
	}
}

// TestTear: a page that was not synced ends in any mixture of old and new sectors, the same for the same seed.
func TestTear(t *testing.T) {
	d := disk.New()
	a := create(t, d, "a")
	write(t, d, a, 0, strings.Repeat("o", 8*disk.PageSize))
	d.SyncAll()
	write(t, d, a, 0, strings.Repeat("n", 8*disk.PageSize))
	torn := false
	results := map[string]bool{}
	for seed := range uint64(20) {
		one, two := d.Clone(), d.Clone()
		one.Crash(disk.Loss{Mode: disk.Tear, Seed: seed})
		two.Crash(disk.Loss{Mode: disk.Tear, Seed: seed})
		got := content(t, one, "a")
		if got != content(t, two, "a") {
			t.Fatalf("seed %d gives two results", seed)
		}
		for s := 0; s < len(got); s += disk.SectorSize {
			sector := got[s : s+disk.SectorSize]
			if strings.Trim(sector, sector[:1]) != "" {
				t.Fatalf("a sector of seed %d is torn", seed)
			}
			torn = torn || sector[:1] != got[s/disk.PageSize*disk.PageSize:][:1]
		}
		results[got] = true
	}
	if !torn || len(results) < 10 {
		t.Fatalf("20 seeds gave %d results, torn pages among them: %v", len(results), torn)
	}
}

// TestReplay: a disk that goes through recorded operations again is the same, in memory and as a folder.
func TestReplay(t *testing.T) {
	d := disk.New()
	var ops []disk.Op
	record := func(op disk.Op) uint64 {
		ino := do(t, d, op)
		op.Ino = ino
		ops = append(ops, op)
		return ino
	}
	sub := record(disk.Op{Kind: disk.Mkdir, Dir: disk.RootIno, Name: "sub.tmp", Mode: 0o700})
	f := record(disk.Op{Kind: disk.Create, Dir: sub, Name: "f", Mode: 0o600})
	record(disk.Op{Kind: disk.Allocate, Ino: f, Size: 1 << 20})
	record(disk.Op{Kind: disk.Write, Ino: f, Offset: 5000, Data: []byte("hello")})
	record(disk.Op{Kind: disk.Rename, Dir: disk.RootIno, Name: "sub.tmp", NewDir: disk.RootIno, NewName: "sub"})
	again := disk.New()
	for _, op := range ops {
		do(t, again, op)
	}
	var files [2][]byte
	for i, x := range []*disk.Disk{d, again} {
		dir := filepath.Join(t.TempDir(), "out")
		if err := x.Save(dir); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "sub", "f"))
		if err != nil {
			t.Fatal(err)
		}
		loaded := disk.New()
		if err := loaded.Load(dir); err != nil {
			t.Fatal(err)
		}
		loaded.Crash(disk.Loss{Mode: disk.Drop}) // what was loaded is durable
		if err := loaded.Save(filepath.Join(t.TempDir(), "again")); err != nil {
			t.Fatal(err)
		}
		files[i] = data
	}
	if !bytes.Equal(files[0], files[1]) || len(files[0]) != 1<<20 || string(files[0][5000:5005]) != "hello" {
		t.Fatal("the two folders differ")
	}
}
