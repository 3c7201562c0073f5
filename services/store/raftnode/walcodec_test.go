package raftnode

import (
	"testing"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
)

// TestLogOfTheLibrarysCodec: a log whose segments name the library's codec is read and goes on.
func TestLogOfTheLibrarysCodec(t *testing.T) {
	dir := t.TempDir()
	meta, err := loadWALMeta(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	old, err := wal.Open(dir, wal.WithMetaStore(meta), wal.WithSegmentFiler(segment.NewFiler(dir, walFS{FS: fs.New(), meta: meta})),
		wal.WithSegmentSize(walSegment), wal.WithLogger(newRaftLogger(discard)))
	if err != nil {
		t.Fatal(err)
	}
	if err := old.StoreLogs(entries(1, 30, 50_000)); err != nil { // more than a segment
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	for last := uint64(30); last <= 90; last += 30 {
		l, err := openWAL(dir, true, newRaftLogger(discard))
		if err != nil {
			t.Fatal(err)
		}
		for i := uint64(1); i <= last; i++ {
			var got raft.Log
			if err := l.GetLog(i, &got); err != nil || got.Index != i || len(got.Data) != 50_000 || got.Data[0] != byte(i) {
				t.Fatalf("entry %d: index %d, %d bytes, %v", i, got.Index, len(got.Data), err)
			}
		}
		if err := l.StoreLogs(entries(last+1, last+30, 50_000)); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
