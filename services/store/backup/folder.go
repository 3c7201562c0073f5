package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyFolder copies the data folder of a member that is not running, file by file, and returns when the copy is on disk.
// to must not exist.
func CopyFolder(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("keeping a copy of the data folder: %w: name another place", err)
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.Name() == "lost+found" && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return os.Mkdir(target, 0o700)
		case d.Type().IsRegular():
			return copyFile(path, target)
		}
		return fmt.Errorf("%s is neither a file nor a folder", path)
	})
	if err == nil {
		err = filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = syncDir(path)
			}
			return err
		})
	}
	if err == nil {
		err = syncDir(filepath.Dir(to))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("keeping a copy of the data folder in %s: %w", to, err), os.RemoveAll(to))
	}
	return nil
}

func copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Sync(), w.Close())
}
