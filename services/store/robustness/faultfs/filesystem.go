package faultfs

import (
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// forever is for how long the kernel may keep names and attributes: nobody changes them behind its back.
const forever = time.Hour

func (f *filesystem) Init(s *fuse.Server) { f.server = s }
func (f *filesystem) String() string      { return "faultfs" }

// look answers a question under the lock.
func (f *filesystem) look(fn func() syscall.Errno) fuse.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frozen {
		return fuse.EIO
	}
	return fuse.Status(fn())
}

func setAttr(out *fuse.Attr, a disk.Attr) {
	out.Ino, out.Size, out.Blocks, out.Blksize = a.Ino, uint64(a.Size), uint64(a.Space/512), disk.PageSize
	out.Nlink, out.Mode = uint32(a.Nlink), a.Mode|syscall.S_IFREG
	if a.Dir {
		out.Mode = a.Mode | syscall.S_IFDIR
	}
	out.SetTimes(&a.Mtime, &a.Mtime, &a.Mtime)
}

// entry answers with an inode, which the kernel then holds.
func (f *filesystem) entry(a disk.Attr, out *fuse.EntryOut) {
	f.disk.Hold(a.Ino)
	out.NodeId, out.Generation = a.Ino, 1
	setAttr(&out.Attr, a)
	out.SetEntryTimeout(forever)
	out.SetAttrTimeout(forever)
}

func (f *filesystem) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return f.look(func() syscall.Errno {
		a, errno := f.disk.Lookup(in.NodeId, name)
		if errno == 0 {
			f.entry(a, out)
		}
		return errno
	})
}

func (f *filesystem) Forget(ino, times uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.disk.Unhold(ino, int(times))
}

func (f *filesystem) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return f.look(func() syscall.Errno { return f.attr(in.NodeId, out) })
}

func (f *filesystem) attr(ino uint64, out *fuse.AttrOut) syscall.Errno {
	a, errno := f.disk.Stat(ino)
	if errno == 0 {
		setAttr(&out.Attr, a)
		out.SetTimeout(forever)
	}
	return errno
}

func (f *filesystem) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	if size, ok := in.GetSize(); ok {
		if st := f.change(cancel, &in.InHeader, &disk.Op{Kind: disk.Truncate, Ino: in.NodeId, Size: int64(size)}); st != fuse.OK {
			return st
		}
	}
	return f.look(func() syscall.Errno {
		var mode *uint32
		var mtime *time.Time
		if m, ok := in.GetMode(); ok {
			mode = &m
		}
		if t, ok := in.GetMTime(); ok {
			mtime = &t
		}
		if errno := f.disk.Chmod(in.NodeId, mode, mtime); errno != 0 {
			return errno
		}
		return f.attr(in.NodeId, out)
	})
}

// add makes a name and answers with its inode.
func (f *filesystem) add(cancel <-chan struct{}, in *fuse.InHeader, op *disk.Op, out *fuse.EntryOut) fuse.Status {
	if st := f.change(cancel, in, op); st != fuse.OK {
		return st
	}
	f.mu.Lock() // not look: what is done is answered even when all froze meanwhile
	defer f.mu.Unlock()
	a, errno := f.disk.Stat(op.Ino)
	if errno == 0 {
		f.entry(a, out)
	}
	return fuse.Status(errno)
}

func (f *filesystem) Mknod(cancel <-chan struct{}, in *fuse.MknodIn, name string, out *fuse.EntryOut) fuse.Status {
	if in.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return fuse.EPERM
	}
	return f.add(cancel, &in.InHeader, &disk.Op{Kind: disk.Create, Dir: in.NodeId, Name: name, Mode: in.Mode & 0o7777}, out)
}

func (f *filesystem) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.add(cancel, &in.InHeader, &disk.Op{Kind: disk.Mkdir, Dir: in.NodeId, Name: name, Mode: in.Mode & 0o7777}, out)
}

func (f *filesystem) Link(cancel <-chan struct{}, in *fuse.LinkIn, name string, out *fuse.EntryOut) fuse.Status {
	return f.add(cancel, &in.InHeader, &disk.Op{Kind: disk.Link, Ino: in.Oldnodeid, Dir: in.NodeId, Name: name}, out)
}

func (f *filesystem) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	return f.add(cancel, &in.InHeader, &disk.Op{Kind: disk.Create, Dir: in.NodeId, Name: name, Mode: in.Mode & 0o7777}, &out.EntryOut)
}

func (f *filesystem) Unlink(cancel <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return f.change(cancel, in, &disk.Op{Kind: disk.Unlink, Dir: in.NodeId, Name: name})
}

func (f *filesystem) Rmdir(cancel <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	return f.change(cancel, in, &disk.Op{Kind: disk.Rmdir, Dir: in.NodeId, Name: name})
}

func (f *filesystem) Rename(cancel <-chan struct{}, in *fuse.RenameIn, name, newName string) fuse.Status {
	const noReplace = 1
	if in.Flags&^noReplace != 0 {
		return fuse.EINVAL
	}
	if in.Flags&noReplace != 0 {
		if st := f.look(func() syscall.Errno {
			if _, errno := f.disk.Lookup(in.Newdir, newName); errno == 0 {
				return syscall.EEXIST
			}
			return 0
		}); st != fuse.OK {
			return st
		}
	}
	return f.change(cancel, &in.InHeader, &disk.Op{Kind: disk.Rename, Dir: in.NodeId, Name: name, NewDir: in.Newdir, NewName: newName})
}

func (f *filesystem) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	out.OpenFlags = fuse.FOPEN_KEEP_CACHE
	if in.Flags&syscall.O_TRUNC != 0 {
		return f.change(cancel, &in.InHeader, &disk.Op{Kind: disk.Truncate, Ino: in.NodeId})
	}
	return f.look(func() syscall.Errno { _, errno := f.disk.Stat(in.NodeId); return errno })
}

func (f *filesystem) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	var n int
	st := f.look(func() (errno syscall.Errno) {
		n, errno = f.disk.Read(in.NodeId, int64(in.Offset), buf)
		return errno
	})
	return fuse.ReadResultData(buf[:n]), st
}

func (f *filesystem) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	st := f.change(cancel, &in.InHeader, &disk.Op{Kind: disk.Write, Ino: in.NodeId, Offset: int64(in.Offset), Data: data})
	if st != fuse.OK {
		return 0, st
	}
	return uint32(len(data)), st
}

func (f *filesystem) Writev(<-chan struct{}, *fuse.WriteIn, [][]byte) (uint32, fuse.Status) {
	return 0, fuse.ENOSYS // makes the server call Write
}

func (f *filesystem) Release(<-chan struct{}, *fuse.ReleaseIn) {}

func (f *filesystem) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.OK }

func (f *filesystem) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return f.change(cancel, &in.InHeader, &disk.Op{Kind: disk.Sync, Ino: in.NodeId})
}

func (f *filesystem) FsyncDir(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	return f.change(cancel, &in.InHeader, &disk.Op{Kind: disk.SyncDir, Ino: in.NodeId})
}

func (f *filesystem) Fallocate(cancel <-chan struct{}, in *fuse.FallocateIn) fuse.Status {
	const keepSize = 1
	if in.Mode&^keepSize != 0 {
		return fuse.Status(syscall.EOPNOTSUPP)
	}
	return f.change(cancel, &in.InHeader, &disk.Op{Kind: disk.Allocate, Ino: in.NodeId, Offset: int64(in.Offset), Size: int64(in.Length),
		KeepSize: in.Mode&keepSize != 0})
}

func (f *filesystem) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return f.look(func() syscall.Errno {
		list, errno := f.disk.List(in.NodeId)
		if errno == 0 {
			f.handle++
			f.lists[f.handle] = list // as it is now: names may go while it is read
			out.Fh = f.handle
		}
		return errno
	})
}

func (f *filesystem) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return f.look(func() syscall.Errno {
		list := f.lists[in.Fh]
		for i := int(in.Offset); i < len(list); i++ {
			mode := uint32(syscall.S_IFREG)
			if list[i].Dir {
				mode = syscall.S_IFDIR
			}
			if !out.AddDirEntry(fuse.DirEntry{Name: list[i].Name, Ino: list[i].Ino, Mode: mode}) {
				break
			}
		}
		return 0
	})
}

func (f *filesystem) ReleaseDir(in *fuse.ReleaseIn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.lists, in.Fh)
}

func (f *filesystem) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	return f.look(func() syscall.Errno {
		used, free := uint64(f.disk.Used()), uint64(f.disk.Free())
		out.Bsize, out.Frsize, out.NameLen = disk.PageSize, disk.PageSize, 255
		out.Blocks, out.Bfree, out.Bavail = (used+free)/disk.PageSize, free/disk.PageSize, free/disk.PageSize
		out.Files, out.Ffree = 1<<20, 1<<20
		return 0
	})
}
