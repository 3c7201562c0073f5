package disk

import "math/rand/v2"

// Loss says what a crash takes.
type Loss struct {
	Mode LossMode
	// Seed decides what Tear keeps: the same operations and the same seed give the same disk.
	Seed uint64
}

// LossMode is the kind of a crash.
type LossMode uint8

// Kinds of crashes.
const (
	// Keep is the death of a process: everything written is there, and still not durable.
	Keep LossMode = iota
	// Drop is a loss of power before anything was written back that nobody asked for.
	Drop
	// Tear is a loss of power while the system was writing back: of what was not synced each page is there, is not, or
	// is there in some of its sectors; of the names that were not synced the first few are there.
	Tear
)

func (m LossMode) String() string { return [...]string{"keep", "drop", "tear"}[m] }

// choices are random decisions.
type choices = *rand.Rand

// page chooses what is on the drive of a page that was not synced.
func (l Loss) page(now page, was lagging, rnd choices) page {
	if l.Mode == Drop || !was.dirty {
		return was.durable
	}
	switch rnd.IntN(3) {
	case 0:
		return was.durable
	case 1:
		return now
	}
	var p [PageSize]byte
	for s := 0; s < PageSize; s += SectorSize {
		from := now
		if rnd.IntN(2) == 0 {
			from = was.durable
		}
		if from != nil {
			copy(p[s:s+SectorSize], from[s:])
		}
	}
	return &p
}

// size chooses how long a file is. One that grew may have got a part of its new length.
func (l Loss) size(now, durable int64, rnd choices) int64 {
	if l.Mode == Drop || now == durable {
		return durable
	}
	switch rnd.IntN(3) {
	case 0:
		return durable
	case 1:
		return now
	}
	if now < durable {
		return now
	}
	return durable + rnd.Int64N(now-durable)
}

// Crash makes the present state what a crash leaves, and that durable, except that Keep changes nothing. It ends all Holds.
func (d *Disk) Crash(loss Loss) {
	d.UnholdAll()
	if loss.Mode == Keep {
		return
	}
	rnd := rand.New(rand.NewPCG(loss.Seed, 0x6f7272657279)) //nolint:gosec // repeatable on purpose
	if loss.Mode == Tear {
		for _, c := range d.pending[:rnd.IntN(len(d.pending)+1)] {
			c.commit()
		}
	}
	d.pending = nil
	d.pages = 0
	d.inodes = map[uint64]*inode{}
	d.crashInode(d.root, loss, rnd)
}

// crashInode does it for an inode and what is below, once.
func (d *Disk) crashInode(n *inode, loss Loss, rnd choices) {
	if d.inodes[n.ino] != nil {
		n.nlink++
		return
	}
	d.inodes[n.ino] = n
	n.nlink = 1
	if n.file != nil {
		n.file.crash(loss, rnd)
		d.pages += int64(len(n.file.pages))
		return
	}
	clear(n.entries)
	for _, name := range sortedNames(n.durable) {
		child := n.durable[name]
		n.entries[name] = child
		if child.file == nil {
			child.parent = n
		}
		d.crashInode(child, loss, rnd)
	}
}
