package backup

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// partialSuffix is that of a file that is being written.
const partialSuffix = ".partial"

// Save writes a snapshot to a file and describes it. stream writes the snapshot into the writer it is given. The file is
// file.partial until it is whole, on disk and verified; then it gets its name, in the place of one that may be there.
func Save(file string, stream func(io.Writer) error) (*Info, error) {
	partial := file + partialSuffix
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_RDWR, 0o600) // it holds the secrets of the cluster
	if err != nil {
		return nil, fmt.Errorf("the snapshot cannot be written: %w: check the folder and its permissions", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another process is writing %s: wait for it or choose another file", partial)
	}
	info, err := save(f, partial, stream)
	if err != nil {
		return nil, errors.Join(err, os.Remove(partial))
	}
	if err := os.Rename(partial, file); err != nil {
		return nil, fmt.Errorf("naming the snapshot: %w", err)
	}
	if err := syncDir(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("keeping the snapshot's name: %w", err)
	}
	info.File = file
	return info, nil
}

func save(f *os.File, partial string, stream func(io.Writer) error) (*Info, error) {
	if err := f.Truncate(0); err != nil { // one that was left behind
		return nil, fmt.Errorf("the snapshot cannot be written: %w", err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := stream(w); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Flush(), f.Sync()); err != nil {
		return nil, fmt.Errorf("writing %s: %w: is the disk full?", partial, err)
	}
	info, err := Inspect(partial)
	if err != nil {
		return nil, fmt.Errorf("the snapshot did not arrive whole, it was removed: %w", err)
	}
	return info, nil
}

// syncDir makes the names in a folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
