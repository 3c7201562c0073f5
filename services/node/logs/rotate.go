package logs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Limits of a container's log.
const (
	maxSize  = 10 << 20
	maxFiles = 5
)

// Rotate renames the log if it has grown too large, has the runtime open a new one, and removes the oldest of those renamed before.
func Rotate(ctx context.Context, path string, now time.Time, reopen func(context.Context) error) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size() < maxSize {
		return nil
	}
	rotated := path + "." + now.UTC().Format("20060102-150405")
	if err := os.Rename(path, rotated); err != nil {
		return err
	}
	if err := reopen(ctx); err != nil {
		// Back, so that the runtime and readers agree on the file.
		return errors.Join(fmt.Errorf("reopening the log %s: %w", path, err), os.Rename(rotated, path))
	}
	old, err := filepath.Glob(path + ".*")
	if err != nil {
		return err
	}
	slices.Sort(old)
	for len(old) > maxFiles-1 {
		if err := os.Remove(old[0]); err != nil {
			return err
		}
		old = old[1:]
	}
	return nil
}

// TooLarge tells that a log of this size, in bytes, is due for rotation.
func TooLarge(size int64) bool { return size >= maxSize }
