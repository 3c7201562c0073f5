package disk

import (
	"maps"
	"slices"
)

const (
	// PageSize is the unit that the system writes back, SectorSize the unit that a drive writes whole.
	PageSize   = 4096
	SectorSize = 512
)

// page is never changed once a file holds it: files and disks share pages.
type page *[PageSize]byte

// zero stands for an allocated page that nothing was written to.
var zero page = new([PageSize]byte)

// file is the content of a file. Pages that are missing read as zeros.
type file struct {
	size  int64
	pages map[int64]page
	// durableSize and old say how the durable content differs: old holds the pages as the drive has them, nil for a hole.
	durableSize int64
	old         map[int64]lagging
}

// lagging is a page whose durable content is another than the present one.
type lagging struct {
	durable page
	// dirty pages are written back by the next sync. The others were lost by one that failed: the system believes them
	// to be clean.
	dirty bool
}

func newFile() *file { return &file{pages: map[int64]page{}, old: map[int64]lagging{}} }

func (f *file) clone() *file {
	return &file{size: f.size, pages: maps.Clone(f.pages), durableSize: f.durableSize, old: maps.Clone(f.old)}
}

// set replaces a page, remembers the durable one and returns by how many pages the file grew.
func (f *file) set(n int64, p page) (grown int64) {
	now, had := f.pages[n]
	l, lags := f.old[n]
	if !lags {
		l.durable = now
	}
	f.old[n] = lagging{l.durable, true}
	if p == nil {
		delete(f.pages, n)
		if had {
			return -1
		}
		return 0
	}
	f.pages[n] = p
	if had {
		return 0
	}
	return 1
}

// fresh is how many of the pages in [off, off+size) have no space yet.
func (f *file) fresh(off, size int64) (n int64) {
	if size == 0 {
		return 0
	}
	for p := off / PageSize; p <= (off+size-1)/PageSize; p++ {
		if _, ok := f.pages[p]; !ok {
			n++
		}
	}
	return n
}

func (f *file) read(off int64, buf []byte) int {
	if off >= f.size {
		return 0
	}
	buf = buf[:min(int64(len(buf)), f.size-off)]
	for done := 0; done < len(buf); {
		at := off + int64(done)
		in := int(at % PageSize)
		n := min(PageSize-in, len(buf)-done)
		if p := f.pages[at/PageSize]; p != nil {
			copy(buf[done:done+n], p[in:])
		} else {
			clear(buf[done : done+n])
		}
		done += n
	}
	return len(buf)
}

func (f *file) write(off int64, data []byte) (grown int64) {
	for done := 0; done < len(data); {
		at := off + int64(done)
		in := int(at % PageSize)
		n := min(PageSize-in, len(data)-done)
		p := new([PageSize]byte)
		if now := f.pages[at/PageSize]; now != nil && n < PageSize {
			*p = *now
		}
		copy(p[in:], data[done:done+n])
		grown += f.set(at/PageSize, p)
		done += n
	}
	f.size = max(f.size, off+int64(len(data)))
	return grown
}

func (f *file) truncate(size int64) (grown int64) {
	if size < f.size {
		for n := range f.pages {
			if n*PageSize >= size {
				grown += f.set(n, nil)
			}
		}
		if in := size % PageSize; in != 0 {
			if now := f.pages[size/PageSize]; now != nil {
				p := *now
				clear(p[in:])
				grown += f.set(size/PageSize, &p)
			}
		}
	}
	f.size = size
	return grown
}

func (f *file) allocate(off, size int64, keepSize bool) (grown int64) {
	for p := off / PageSize; size > 0 && p <= (off+size-1)/PageSize; p++ {
		if _, ok := f.pages[p]; !ok {
			f.pages[p] = zero // no need to remember: it reads as before
			grown++
		}
	}
	if !keepSize {
		f.size = max(f.size, off+size)
	}
	return grown
}

// sync makes what is dirty durable.
func (f *file) sync() {
	for n, l := range f.old {
		if l.dirty {
			delete(f.old, n)
		}
	}
	f.durableSize = f.size
}

// failSync forgets that pages are dirty. With drop readers no longer see what they held either.
func (f *file) failSync(drop bool) (grown int64) {
	for n, l := range f.old {
		if !l.dirty {
			continue
		}
		if !drop {
			f.old[n] = lagging{l.durable, false}
			continue
		}
		delete(f.old, n)
		grown += f.put(n, l.durable)
	}
	if drop {
		f.size = f.durableSize
	}
	return grown
}

// put replaces a page without a memory of what was there.
func (f *file) put(n int64, p page) (grown int64) {
	_, had := f.pages[n]
	if p == nil {
		delete(f.pages, n)
		if had {
			return -1
		}
		return 0
	}
	f.pages[n] = p
	if had {
		return 0
	}
	return 1
}

// crash makes the present content what survives a loss of power.
func (f *file) crash(loss Loss, rnd choices) {
	for _, n := range slices.Sorted(maps.Keys(f.old)) { // in order: the same seed gives the same result
		l := f.old[n]
		f.put(n, loss.page(f.pages[n], l, rnd))
	}
	f.size = loss.size(f.size, f.durableSize, rnd)
	for n := range f.pages {
		if n*PageSize >= f.size {
			delete(f.pages, n)
		}
	}
	if in := f.size % PageSize; in != 0 {
		if now := f.pages[f.size/PageSize]; now != nil {
			p := *now
			clear(p[in:])
			f.pages[f.size/PageSize] = &p
		}
	}
	f.durableSize = f.size
	clear(f.old)
}
