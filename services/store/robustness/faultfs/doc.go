// Package faultfs mounts a file system that goes wrong on request: slow, failing and stuck syncs, a full disk, a process
// killed at an exact operation, and the loss of everything that was not synced.
//
// Its one idea is that a test owns the disk. What processes write goes into a model of a disk (package disk) that keeps apart what
// they see and what is durable, and every write, sync and change of a name passes one place, where it is counted, recorded,
// delayed, refused or made the moment of death.
//
// The model lives in memory, in a process of its own for each mount: a test that dies takes its mounts with it, and a mount that
// is stuck hangs nobody but its users. [FS.Load] and [FS.Save] exchange its content with folders. Files can be mapped
// into memory; locks work.
//
//	func TestMain(m *testing.M) { faultfs.Main(); os.Exit(m.Run()) } // the helper process runs this program again
//
//	fs, err := faultfs.Mount(dir, faultfs.Options{})
//	defer fs.Close()
//	fs.FailSyncs(1, false)          // EIO, once
//	fs.KillAt(120, faultfs.After, cmd.Process.Pid)
//	...
//	fs.Crash(disk.Loss{Mode: disk.Tear, Seed: 7})  // power loss: users are gone, the mount is there again
//
// mount.go is what tests call, helper.go the process behind it, control.go what they say to each other, filesystem.go the FUSE
// calls, faults.go the place that all changes pass.
package faultfs
