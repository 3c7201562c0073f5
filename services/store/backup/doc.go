// Package backup keeps the store's content in files: it saves a snapshot, says what a file holds and whether it is intact,
// and makes the data folder of a new cluster from one.
//
// Its one idea: a backup that was never read is not one. Save reads back what it wrote before the file gets its name, and
// Restore reads the file to its last byte before it touches the data folder.
//
// A file is the stream that a member writes (package mvcc: frames with a checksum each, a trailer with one over all), as
// it is or as etcd's clients keep it: padded to 512 bytes and followed by a SHA-256. inspect.go reads both, save.go writes
// the first, restore.go makes a folder.
package backup
