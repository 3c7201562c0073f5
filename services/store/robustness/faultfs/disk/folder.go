package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Load copies a folder of the host into the root of an empty disk and makes all of it durable.
func (d *Disk) Load(from string) error {
	dirs := map[string]uint64{".": RootIno}
	err := filepath.WalkDir(from, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil || rel == "." {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		op := &Op{Kind: Create, Dir: dirs[filepath.Dir(rel)], Name: filepath.Base(rel), Mode: uint32(info.Mode().Perm())}
		if e.IsDir() {
			op.Kind = Mkdir
		}
		if errno := d.apply(op); errno != 0 {
			return fmt.Errorf("loading %s: %w", p, errno)
		}
		if e.IsDir() {
			dirs[rel] = op.Ino
			return nil
		}
		return d.loadFile(p, op.Ino)
	})
	if err != nil {
		return err
	}
	d.SyncAll()
	return nil
}

// loadFile copies a file. Pages of zeros become holes.
func (d *Disk) loadFile(p string, ino uint64) error {
	src, err := os.Open(p)
	if err != nil {
		return err
	}
	defer src.Close()
	var size int64
	buf := make([]byte, 256*PageSize)
	for err == nil {
		var n int
		n, err = io.ReadFull(src, buf)
		for at := 0; at < n; at += PageSize {
			piece := buf[at:min(at+PageSize, n)]
			if bytes.Equal(piece, zero[:len(piece)]) {
				continue
			}
			if errno := d.apply(&Op{Kind: Write, Ino: ino, Path: p, Offset: size + int64(at), Data: piece}); errno != 0 {
				return fmt.Errorf("loading %s: %w", p, errno)
			}
		}
		size += int64(n)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if errno := d.apply(&Op{Kind: Truncate, Ino: ino, Path: p, Size: size}); errno != 0 {
		return fmt.Errorf("loading %s: %w", p, errno)
	}
	return nil
}

// SyncAll makes everything durable.
func (d *Disk) SyncAll() {
	d.syncNames(nil)
	for _, n := range d.inodes {
		if n.file != nil {
			n.file.sync()
		}
	}
}

// Save writes the present state into a folder of the host, which must be empty or missing. Holes stay holes.
func (d *Disk) Save(to string) error { return d.root.save(to) }

func (n *inode) save(to string) error {
	if n.file == nil {
		if err := os.MkdirAll(to, os.FileMode(n.mode)|0o700); err != nil {
			return err
		}
		for name, child := range n.entries {
			if err := child.save(filepath.Join(to, name)); err != nil {
				return err
			}
		}
		return nil
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, os.FileMode(n.mode))
	if err != nil {
		return err
	}
	defer dst.Close()
	for at, p := range n.file.pages {
		if p == zero {
			continue
		}
		if size := min(PageSize, n.file.size-at*PageSize); size > 0 {
			if _, err := dst.WriteAt(p[:size], at*PageSize); err != nil {
				return err
			}
		}
	}
	if err := dst.Truncate(n.file.size); err != nil {
		return err
	}
	return dst.Close()
}
