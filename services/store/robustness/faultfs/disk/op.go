package disk

import "fmt"

// Kind says what an operation does.
type Kind uint8

// Kinds of operations.
const (
	Write    Kind = iota + 1
	Truncate      // sets the size of a file
	Allocate      // reserves space
	Create        // a file
	Mkdir
	Link
	Rename
	Unlink
	Rmdir
	Sync    // of a file: fsync and fdatasync alike
	SyncDir // of a folder
)

var kindNames = [...]string{"", "write", "truncate", "allocate", "create", "mkdir", "link", "rename", "unlink", "rmdir", "sync", "syncdir"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Op is one change of a disk, or one sync. Operations name files and folders by inode number, so that they mean the same
// on every disk that went through the same operations.
type Op struct {
	Kind Kind
	// N numbers the operations of a disk from 1 on; Apply sets it.
	N int
	// Ino is the file or folder that is written, truncated, allocated, synced or linked. Create and Mkdir use it for the new
	// inode when it is set and set it when it is 0.
	Ino uint64
	// Dir and Name are the entry that is made, removed or renamed.
	Dir  uint64
	Name string
	// NewDir and NewName are where Rename goes.
	NewDir  uint64
	NewName string
	// Offset and Size are the range that is written or allocated; Size is the new size for Truncate.
	Offset, Size int64
	// KeepSize lets Allocate leave the file's size as it is.
	KeepSize bool
	Mode     uint32
	Data     []byte
	// Path is for people: the path from the root at the time, "old > new" for Rename.
	Path string
	// Failed says that a Sync reported an error: what it should have written is lost. With Dropped readers do not see it any
	// more either; without, they see it until a loss of power.
	Failed, Dropped bool
}

func (o *Op) String() string {
	s := fmt.Sprintf("#%d %v %s", o.N, o.Kind, o.Path)
	switch o.Kind {
	case Write, Allocate:
		s += fmt.Sprintf(" [%d,+%d)", o.Offset, o.Size)
	case Truncate:
		s += fmt.Sprintf(" to %d", o.Size)
	}
	if o.Failed {
		s += " (failed)"
	}
	return s
}
