package disk

import (
	"maps"
	"path"
	"slices"
	"syscall"
	"time"
)

// RootIno is the inode number of the root folder.
const RootIno = 1

// Disk is a file system in memory. It is not safe for concurrent use.
type Disk struct {
	// Journaled says that a sync of anything makes all earlier changes of names durable.
	Journaled bool
	// Capacity bounds the space of all files, in bytes; 0 means without limit.
	Capacity int64

	root    *inode
	inodes  map[uint64]*inode
	last    uint64 // the highest inode number given out
	ops     int
	pages   int64     // with space on the disk
	pending []*change // of names that are not durable yet, oldest first
}

// inode is a file or a folder.
type inode struct {
	ino   uint64
	mode  uint32 // permissions
	nlink int    // names in the present state
	open  int    // holds on an inode without a name; see Hold
	mtime time.Time
	file  *file // nil for a folder
	// A folder's names: the present and the durable ones.
	entries, durable map[string]*inode
	parent           *inode // of a folder
}

// change is one change of names; a rename changes two.
type change struct {
	dirs  [2]*inode
	names [2]string
	to    [2]*inode // nil removes the name
}

func (c *change) commit() {
	for i, dir := range c.dirs {
		switch {
		case dir == nil:
		case c.to[i] == nil:
			delete(dir.durable, c.names[i])
		default:
			dir.durable[c.names[i]] = c.to[i]
		}
	}
}

// New makes an empty disk.
func New() *Disk {
	d := &Disk{inodes: map[uint64]*inode{}, last: RootIno}
	d.root = newFolder(RootIno, 0o755)
	d.root.nlink = 1
	d.root.parent = d.root
	d.inodes[RootIno] = d.root
	return d
}

func newFolder(ino uint64, mode uint32) *inode {
	return &inode{ino: ino, mode: mode, entries: map[string]*inode{}, durable: map[string]*inode{}, mtime: time.Now()}
}

// Ops is how many operations were applied.
func (d *Disk) Ops() int { return d.ops }

// Used and Free are bytes of space; Free is that of a large disk when there is no limit.
func (d *Disk) Used() int64 { return d.pages * PageSize }

// Free is the space that is left.
func (d *Disk) Free() int64 {
	if d.Capacity == 0 {
		return 1 << 40
	}
	return max(0, d.Capacity-d.Used())
}

// Apply carries out one operation and completes op. Its errors are those of the system calls; nothing has changed then.
func (d *Disk) Apply(op *Op) syscall.Errno {
	if errno := d.apply(op); errno != 0 {
		return errno
	}
	d.ops++
	op.N = d.ops
	return 0
}

// Name sets the operation's path, as Apply does.
func (d *Disk) Name(op *Op) {
	at := func(ino uint64, name string) string {
		if n := d.inodes[ino]; n != nil {
			return path.Join(d.pathOf(n), name)
		}
		return "(gone)"
	}
	switch op.Kind {
	case Write, Truncate, Allocate, Sync, SyncDir:
		op.Path = at(op.Ino, "")
	case Rename:
		op.Path = at(op.Dir, op.Name) + " > " + at(op.NewDir, op.NewName)
	default:
		op.Path = at(op.Dir, op.Name)
	}
}

func (d *Disk) apply(op *Op) syscall.Errno {
	if op.Path == "" {
		d.Name(op)
	}
	switch op.Kind {
	case Write, Truncate, Allocate, Sync:
		n := d.inodes[op.Ino]
		if n == nil {
			return syscall.ESTALE
		}
		if n.file == nil {
			return syscall.EISDIR
		}
		return d.content(op, n)
	case SyncDir:
		n := d.inodes[op.Ino]
		if n == nil || n.file != nil {
			return syscall.ENOTDIR
		}
		if !op.Failed {
			d.syncNames(n)
		}
		return 0
	}
	dir := d.inodes[op.Dir]
	if dir == nil || dir.file != nil {
		return syscall.ENOTDIR
	}
	switch op.Kind {
	case Create, Mkdir, Link:
		return d.add(op, dir)
	case Unlink, Rmdir:
		return d.remove(op, dir)
	case Rename:
		return d.rename(op, dir)
	}
	return syscall.ENOSYS
}

// content changes what a file holds.
func (d *Disk) content(op *Op, n *inode) syscall.Errno {
	f := n.file
	switch op.Kind {
	case Write:
		op.Size = int64(len(op.Data))
		if f.fresh(op.Offset, op.Size)*PageSize > d.Free() {
			return syscall.ENOSPC
		}
		d.pages += f.write(op.Offset, op.Data)
	case Allocate:
		if f.fresh(op.Offset, op.Size)*PageSize > d.Free() {
			return syscall.ENOSPC
		}
		d.pages += f.allocate(op.Offset, op.Size, op.KeepSize)
	case Truncate:
		d.pages += f.truncate(op.Size)
	case Sync:
		if op.Failed {
			d.pages += f.failSync(op.Dropped)
		} else {
			f.sync()
			if d.Journaled {
				d.syncNames(nil)
			}
		}
		return 0
	}
	n.mtime = time.Now()
	return 0
}

// syncNames makes changes of the folder's names durable, or all of them.
func (d *Disk) syncNames(dir *inode) {
	rest := d.pending[:0]
	for _, c := range d.pending {
		if dir == nil || d.Journaled || c.dirs[0] == dir || c.dirs[1] == dir {
			c.commit()
		} else {
			rest = append(rest, c)
		}
	}
	clear(d.pending[len(rest):])
	d.pending = rest
}

func (d *Disk) add(op *Op, dir *inode) syscall.Errno {
	if dir.entries[op.Name] != nil {
		return syscall.EEXIST
	}
	if d.Free() < PageSize {
		return syscall.ENOSPC
	}
	var n *inode
	switch op.Kind {
	case Link:
		if n = d.inodes[op.Ino]; n == nil || n.file == nil {
			return syscall.EPERM
		}
	default:
		if op.Ino == 0 {
			op.Ino = d.last + 1
		}
		d.last = max(d.last, op.Ino)
		n = newFolder(op.Ino, op.Mode)
		n.parent = dir
		if op.Kind == Create {
			n = &inode{ino: op.Ino, mode: op.Mode, file: newFile(), mtime: time.Now()}
		}
		d.inodes[op.Ino] = n
	}
	d.name(dir, op.Name, n)
	d.pending = append(d.pending, &change{dirs: [2]*inode{dir}, names: [2]string{op.Name}, to: [2]*inode{n}})
	return 0
}

func (d *Disk) name(dir *inode, name string, n *inode) {
	dir.entries[name] = n
	dir.mtime = time.Now()
	n.nlink++
}

func (d *Disk) unname(dir *inode, name string) {
	n := dir.entries[name]
	delete(dir.entries, name)
	dir.mtime = time.Now()
	n.nlink--
	d.forget(n)
}

// forget drops an inode from the present state that nobody can reach any more.
func (d *Disk) forget(n *inode) {
	if n.nlink == 0 && n.open == 0 && d.inodes[n.ino] == n {
		delete(d.inodes, n.ino)
		if n.file != nil {
			d.pages -= int64(len(n.file.pages))
		}
	}
}

func (d *Disk) remove(op *Op, dir *inode) syscall.Errno {
	n := dir.entries[op.Name]
	switch {
	case n == nil:
		return syscall.ENOENT
	case op.Kind == Unlink && n.file == nil:
		return syscall.EISDIR
	case op.Kind == Rmdir && n.file != nil:
		return syscall.ENOTDIR
	case op.Kind == Rmdir && len(n.entries) > 0:
		return syscall.ENOTEMPTY
	}
	op.Ino = n.ino
	d.unname(dir, op.Name)
	d.pending = append(d.pending, &change{dirs: [2]*inode{dir}, names: [2]string{op.Name}})
	return 0
}

func (d *Disk) rename(op *Op, dir *inode) syscall.Errno {
	to := d.inodes[op.NewDir]
	n := dir.entries[op.Name]
	switch {
	case to == nil || to.file != nil:
		return syscall.ENOTDIR
	case n == nil:
		return syscall.ENOENT
	}
	op.Ino = n.ino
	if old := to.entries[op.NewName]; old != nil {
		switch {
		case old == n:
			return 0
		case old.file == nil && n.file != nil:
			return syscall.EISDIR
		case old.file != nil && n.file == nil:
			return syscall.ENOTDIR
		case len(old.entries) > 0:
			return syscall.ENOTEMPTY
		}
		d.unname(to, op.NewName)
	}
	d.name(to, op.NewName, n)
	d.unname(dir, op.Name)
	if n.file == nil {
		n.parent = to
	}
	d.pending = append(d.pending, &change{
		dirs: [2]*inode{to, dir}, names: [2]string{op.NewName, op.Name}, to: [2]*inode{n, nil}})
	return 0
}

// Hold keeps an inode although it loses its last name, until Unhold: it is open.
func (d *Disk) Hold(ino uint64) {
	if n := d.inodes[ino]; n != nil {
		n.open++
	}
}

// Unhold ends as many Holds.
func (d *Disk) Unhold(ino uint64, times int) {
	if n := d.inodes[ino]; n != nil {
		n.open = max(0, n.open-times)
		d.forget(n)
	}
}

// UnholdAll ends all Holds.
func (d *Disk) UnholdAll() {
	for _, n := range d.inodes {
		n.open = 0
		d.forget(n)
	}
}

// Clone copies the disk. Holds are not copied.
func (d *Disk) Clone() *Disk {
	c := &Disk{Journaled: d.Journaled, Capacity: d.Capacity, last: d.last, ops: d.ops, pages: d.pages, inodes: map[uint64]*inode{}}
	copies := map[*inode]*inode{}
	var clone func(n *inode) *inode
	clone = func(n *inode) *inode {
		if n == nil {
			return nil
		}
		if m := copies[n]; m != nil {
			return m
		}
		m := &inode{ino: n.ino, mode: n.mode, nlink: n.nlink, mtime: n.mtime}
		copies[n] = m
		m.parent = clone(n.parent)
		if n.file != nil {
			m.file = n.file.clone()
			return m
		}
		m.entries, m.durable = cloneNames(n.entries, clone), cloneNames(n.durable, clone)
		return m
	}
	for ino, n := range d.inodes {
		if n.nlink > 0 {
			c.inodes[ino] = clone(n)
		} else if n.file != nil {
			c.pages -= int64(len(n.file.pages))
		}
	}
	c.root = clone(d.root)
	for _, p := range d.pending {
		q := *p
		for i := range q.dirs {
			q.dirs[i], q.to[i] = clone(p.dirs[i]), clone(p.to[i])
		}
		c.pending = append(c.pending, &q)
	}
	return c
}

func cloneNames(m map[string]*inode, clone func(*inode) *inode) map[string]*inode {
	c := make(map[string]*inode, len(m))
	for name, n := range m {
		c[name] = clone(n)
	}
	return c
}

func sortedNames(m map[string]*inode) []string { return slices.Sorted(maps.Keys(m)) }
