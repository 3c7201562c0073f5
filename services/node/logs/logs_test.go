package logs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sample = `2026-01-01T00:00:01.000000000Z stdout F one
2026-01-01T00:00:02.000000000Z stderr F oops
2026-01-01T00:00:03.000000000Z stdout P tw
2026-01-01T00:00:03.100000000Z stdout F o
damaged
2026-01-01T00:00:04.500000000Z stdout F three
`

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadSelects(t *testing.T) {
	path := write(t, sample)
	all := Options{Tail: -1, Limit: -1}
	tests := []struct {
		name           string
		change         func(*Options)
		stdout, stderr string
	}{
		{"all", func(*Options) {}, "one\ntwo\nthree\n", "oops\n"},
		{"tail", func(o *Options) { o.Tail = 1 }, "three\n", ""},
		{"more than there is", func(o *Options) { o.Tail = 100 }, "one\ntwo\nthree\n", "oops\n"},
		{"none", func(o *Options) { o.Tail = 0 }, "", ""},
		{"since", func(o *Options) { o.Since = time.Date(2026, 1, 1, 0, 0, 3, 0, time.UTC) }, "two\nthree\n", ""},
		{"limit", func(o *Options) { o.Limit = 6; o.Stream = Stdout }, "one\ntw", ""},
		{"stderr", func(o *Options) { o.Stream = Stderr }, "", "oops\n"},
		{"timestamps", func(o *Options) { o.Timestamps = true; o.Stream = Stdout },
			"2026-01-01T00:00:01.000000000Z one\n2026-01-01T00:00:03.000000000Z two\n2026-01-01T00:00:04.500000000Z three\n", ""},
	}
	for _, test := range tests {
		options := all
		test.change(&options)
		var stdout, stderr bytes.Buffer
		if err := Read(t.Context(), path, options, &stdout, &stderr); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if stdout.String() != test.stdout || stderr.String() != test.stderr {
			t.Errorf("%s: stdout %q, stderr %q", test.name, stdout.String(), stderr.String())
		}
	}
}

func TestFollowGoesOnAfterRotationAndEndsWithTheContainer(t *testing.T) {
	path := write(t, "2026-01-01T00:00:01Z stdout F first\n")
	reader, writer := io.Pipe()
	running := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		err := Read(context.WithoutCancel(t.Context()), path, Options{Tail: -1, Limit: -1, Follow: true, Running: func() bool {
			select {
			case <-running:
				return false
			default:
				return true
			}
		}}, writer, writer)
		writer.Close()
		result <- err
	}()
	expect := func(want string) {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(reader, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
	expect("first\n")
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("2026-01-01T00:00:02Z stdout F second\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect("second\n")
	close(running)
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
}

func TestRotateKeepsTheNewestFiles(t *testing.T) {
	path := write(t, "")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 8 {
		if err := os.WriteFile(path, []byte(strings.Repeat("x", maxSize)), 0o644); err != nil {
			t.Fatal(err)
		}
		reopened := false
		if err := Rotate(t.Context(), path, now.Add(time.Duration(i)*time.Second), func(context.Context) error { reopened = true; return nil }); err != nil || !reopened {
			t.Fatalf("rotation %d: %v, reopened %v", i, err, reopened)
		}
	}
	old, _ := filepath.Glob(path + ".*")
	if len(old) != maxFiles-1 || !strings.HasSuffix(old[len(old)-1], "000007") {
		t.Errorf("kept %v", old)
	}
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Rotate(t.Context(), path, now, func(context.Context) error { return fmt.Errorf("must not be called") }); err != nil {
		t.Error(err)
	}
}
