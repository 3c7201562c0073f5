// Package disk models what a file system holds in memory and what of it would survive a loss of power.
//
// Its one idea is that a file system has two states. The present one is what processes see: every write, rename and
// unlink shows there at once. The durable one is what a machine finds after its power failed: file contents that were
// followed by a sync of the file, names that were followed by a sync of their folder. A [Disk] keeps both. [Disk.Apply]
// changes the present state, or moves a part of it over into the durable one; [Disk.Crash] forgets what was not moved, all
// of it or a random part, in torn pieces of a sector.
//
// What a sync covers is the least that POSIX promises: a file's sync makes its content and size durable, not its name; a
// folder's sync makes its names durable. ext4, XFS and Btrfs give more; [Disk.Journaled] models that a sync of anything makes all
// earlier names durable too.
//
// Every change is an [Op], so a disk can be rebuilt as it was after each operation of a recorded run.
//
// op.go has the operations, disk.go the state and how operations change it, file.go a file's pages, crash.go the loss of
// power, folder.go the way from and to folders of the host.
package disk
