// Package logs reads containers' logs as the runtime writes them, and keeps their files small.
//
// One idea: a log is a file of lines "TIME STREAM TAG TEXT" (the CRI logging format), where the tag P says that the line goes on in the next record. Read turns
// it into what the program wrote; Rotate renames a file that has grown too large, and a reader that follows moves on to the new one.
package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Streams of a log.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Options of Read, as in core/v1 PodLogOptions.
type Options struct {
	Follow     bool
	Since      time.Time
	Timestamps bool
	// Tail is the number of lines from the end; negative means all.
	Tail int64
	// Limit is the number of bytes; negative means all.
	Limit int64
	// Stream is Stdout, Stderr or empty for both.
	Stream string
	// Running tells whether the container may still write; a reader that follows ends when it may not. Nil means not.
	Running func() bool
}

// record is one line of the file.
type record struct {
	time    time.Time
	stream  string
	partial bool
	text    []byte
}

// parse reads a record. The text keeps its newline unless the record is partial.
func parse(line []byte) (record, error) {
	stamp, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok {
		return record{}, fmt.Errorf("a log line has no time: %.80q", line)
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return record{}, fmt.Errorf("a log line's time: %w", err)
	}
	stream, rest, ok := bytes.Cut(rest, []byte{' '})
	if !ok || string(stream) != Stdout && string(stream) != Stderr {
		return record{}, fmt.Errorf("a log line names no stream: %.80q", line)
	}
	tags, text, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return record{}, fmt.Errorf("a log line has no text: %.80q", line)
	}
	tag, _, _ := bytes.Cut(tags, []byte{':'})
	r := record{time: at, stream: string(stream), partial: string(tag) == "P", text: text}
	if r.partial {
		r.text = bytes.TrimSuffix(text, []byte{'\n'})
	}
	return r, nil
}

// stampFormat has a fixed width, so that columns line up.
const stampFormat = "2006-01-02T15:04:05.000000000Z07:00"

// Read writes the selected lines to stdout and stderr. It ends at the end of the file or, when it follows, when the container has ended or ctx is over.
func Read(ctx context.Context, path string, options Options, stdout, stderr io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { f.Close() }()
	if options.Tail >= 0 {
		start, err := tailStart(f, options.Tail)
		if err != nil {
			return err
		}
		if _, err := f.Seek(start, io.SeekStart); err != nil {
			return err
		}
	}
	changes, stop := watch(path, options.Follow)
	defer stop()
	out := &output{options: options, left: options.Limit, stdout: stdout, stderr: stderr, fresh: true}
	reader := bufio.NewReaderSize(f, 64<<10)
	var pending []byte
	for {
		// Asked before reading: what a container that has ended wrote is then in the file.
		running := options.Follow && options.Running != nil && options.Running()
		for {
			line, err := reader.ReadBytes('\n')
			pending = append(pending, line...)
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			done, err := out.line(pending)
			if pending = pending[:0]; done || err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if !options.Follow {
			return nil
		}
		if fresh, err := os.Open(path); err == nil {
			if !same(f, fresh) {
				// Rotated. Whatever came between reading the end and the renaming is in the old file.
				rest, err := io.ReadAll(f)
				if err != nil {
					fresh.Close()
					return err
				}
				f.Close()
				f = fresh
				reader.Reset(io.MultiReader(bytes.NewReader(rest), f))
				continue
			}
			fresh.Close()
		}
		if !running {
			return nil
		}
		timer := time.NewTimer(time.Second)
		select {
		case <-changes:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}

// watch tells of changes in the file's folder. Without inotify the reader looks once a second.
func watch(path string, follow bool) (<-chan fsnotify.Event, func()) {
	if !follow {
		return nil, func() {}
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	if err := watcher.Add(filepath.Dir(path)); err != nil {
		watcher.Close()
		return nil, func() {}
	}
	return watcher.Events, func() { watcher.Close() }
}

// output selects and writes lines.
type output struct {
	options        Options
	left           int64
	stdout, stderr io.Writer
	// fresh says that the next record begins a line.
	fresh bool
}

// line handles one record; done means that no more is wanted.
func (o *output) line(raw []byte) (done bool, err error) {
	r, err := parse(raw)
	if err != nil {
		//lint:ignore nilerr one damaged line must not hide all others
		return false, nil
	}
	if r.time.Before(o.options.Since) || o.options.Stream != "" && r.stream != o.options.Stream {
		return false, nil
	}
	text := r.text
	if o.options.Timestamps && o.fresh {
		text = append(append(r.time.AppendFormat(nil, stampFormat), ' '), r.text...)
	}
	o.fresh = !r.partial
	if o.options.Limit >= 0 && int64(len(text)) > o.left {
		text, done = text[:o.left], true
	}
	o.left -= int64(len(text))
	to := o.stdout
	if r.stream == Stderr {
		to = o.stderr
	}
	if len(text) > 0 {
		if _, err := to.Write(text); err != nil {
			return true, err
		}
	}
	return done, nil
}

// tailStart finds where the last n lines begin, reading backwards.
func tailStart(f *os.File, n int64) (int64, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || n == 0 {
		return end, err
	}
	const block = 32 << 10
	buffer := make([]byte, block)
	seen := int64(0)
	for at := end; at > 0; {
		size := min(block, at)
		at -= size
		if _, err := f.ReadAt(buffer[:size], at); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := size - 1; i >= 0; i-- {
			if buffer[i] != '\n' || at+i == end-1 {
				continue // the newline at the very end begins no line
			}
			if seen++; seen == n {
				return at + i + 1, nil
			}
		}
	}
	return 0, nil
}
