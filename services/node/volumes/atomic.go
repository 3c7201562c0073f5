package volumes

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// file is one file of a payload.
type file struct {
	data []byte
	mode os.FileMode
}

const (
	dataLink = "..data"
	newLink  = "..data_tmp"
)

// writeAtomically makes dir hold exactly the payload. The files live in a hidden folder of their own; dir/..data is a symbolic link to it, and every
// visible name is a link through ..data. An update makes a new hidden folder and moves the one link, which readers see at once or not at all:
//
//	dir/..2026_11_30_10_00_00.123/key    dir/..data -> ..2026_11_30_10_00_00.123    dir/key -> ..data/key
//
// It reports whether anything changed.
func writeAtomically(dir string, payload map[string]file, group *int64) (changed bool, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, err
	}
	current, err := os.Readlink(filepath.Join(dir, dataLink))
	if err == nil && holds(filepath.Join(dir, current), payload) {
		return false, nil
	}
	fresh, err := os.MkdirTemp(dir, "..data-")
	if err != nil {
		return false, err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return false, err
	}
	for name, f := range payload {
		path := filepath.Join(fresh, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return false, err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return false, err
		}
		// The umask must not take anything away.
		if err := os.Chmod(path, f.mode); err != nil {
			return false, err
		}
		if group != nil {
			if err := os.Chown(path, -1, int(*group)); err != nil {
				return false, err
			}
		}
	}
	link := filepath.Join(dir, newLink)
	_ = os.Remove(link)
	if err := os.Symlink(filepath.Base(fresh), link); err != nil {
		return false, err
	}
	if err := os.Rename(link, filepath.Join(dir, dataLink)); err != nil {
		return false, err
	}
	return true, linkNames(dir, filepath.Base(fresh), payload)
}

// linkNames makes the visible links and removes those that lead nowhere, and the hidden folders of old payloads.
func linkNames(dir, fresh string, payload map[string]file) error {
	wanted := map[string]bool{}
	for name := range payload {
		top, _, _ := strings.Cut(name, "/")
		wanted[top] = true
	}
	for top := range wanted {
		path := filepath.Join(dir, top)
		if target, err := os.Readlink(path); err == nil && target == filepath.Join(dataLink, top) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(dataLink, top), path); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if name == dataLink || name == fresh || wanted[name] {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// holds tells whether the folder has the payload's files and no others.
func holds(dir string, payload map[string]file) bool {
	count := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		count++
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		want, ok := payload[name]
		if !ok {
			return os.ErrNotExist
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if info.Mode().Perm() != want.mode.Perm() || !bytes.Equal(data, want.data) {
			return os.ErrNotExist
		}
		return nil
	})
	return err == nil && count == len(payload)
}
