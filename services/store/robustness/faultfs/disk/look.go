package disk

import (
	"path"
	"syscall"
	"time"
)

// Attr describes a file or a folder.
type Attr struct {
	Ino   uint64
	Dir   bool
	Mode  uint32
	Nlink int
	Size  int64
	// Space is what it takes on the disk, in bytes.
	Space int64
	Mtime time.Time
}

func (n *inode) attr() Attr {
	a := Attr{Ino: n.ino, Dir: n.file == nil, Mode: n.mode, Nlink: n.nlink, Mtime: n.mtime, Size: PageSize, Space: PageSize}
	if n.file != nil {
		a.Size, a.Space = n.file.size, int64(len(n.file.pages))*PageSize
	}
	return a
}

// Stat describes an inode.
func (d *Disk) Stat(ino uint64) (Attr, syscall.Errno) {
	n := d.inodes[ino]
	if n == nil {
		return Attr{}, syscall.ESTALE
	}
	return n.attr(), 0
}

// Lookup finds a name in a folder.
func (d *Disk) Lookup(dir uint64, name string) (Attr, syscall.Errno) {
	n := d.inodes[dir]
	if n == nil || n.file != nil {
		return Attr{}, syscall.ENOTDIR
	}
	child := n.entries[name]
	if child == nil {
		return Attr{}, syscall.ENOENT
	}
	return child.attr(), 0
}

// Entry is a name in a folder.
type Entry struct {
	Name string
	Attr
}

// List returns the names in a folder, in order.
func (d *Disk) List(dir uint64) ([]Entry, syscall.Errno) {
	n := d.inodes[dir]
	if n == nil || n.file != nil {
		return nil, syscall.ENOTDIR
	}
	out := make([]Entry, 0, len(n.entries))
	for _, name := range sortedNames(n.entries) {
		out = append(out, Entry{name, n.entries[name].attr()})
	}
	return out, 0
}

// Read fills buf from a file and returns how much there was.
func (d *Disk) Read(ino uint64, off int64, buf []byte) (int, syscall.Errno) {
	n := d.inodes[ino]
	if n == nil || n.file == nil {
		return 0, syscall.EISDIR
	}
	return n.file.read(off, buf), 0
}

// Chmod sets permissions and the time of the last change; neither counts as an operation.
func (d *Disk) Chmod(ino uint64, mode *uint32, mtime *time.Time) syscall.Errno {
	n := d.inodes[ino]
	if n == nil {
		return syscall.ESTALE
	}
	if mode != nil {
		n.mode = *mode & 0o7777
	}
	if mtime != nil {
		n.mtime = *mtime
	}
	return 0
}

// pathOf is the path of an inode from the root, for people: one of them when it has several.
func (d *Disk) pathOf(n *inode) string {
	if n == d.root {
		return "/"
	}
	if n.file == nil {
		for name, child := range n.parent.entries {
			if child == n {
				return path.Join(d.pathOf(n.parent), name)
			}
		}
		return "(removed)"
	}
	var find func(dir *inode, at string) string
	find = func(dir *inode, at string) string {
		for name, child := range dir.entries {
			switch {
			case child == n:
				return path.Join(at, name)
			case child.file == nil:
				if p := find(child, path.Join(at, name)); p != "" {
					return p
				}
			}
		}
		return ""
	}
	if p := find(d.root, "/"); p != "" {
		return p
	}
	return "(unlinked)"
}
