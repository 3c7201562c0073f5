package raftnode

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/hashicorp/raft"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sumSize is that of a checksum: four bytes, big-endian.
const sumSize = 4

// entrySum is the checksum of a log entry, kept in the entry's extensions on disk: neither log store has one that is
// checked when an entry is read. Members do not send it to each other.
func entrySum(l *raft.Log) uint32 {
	var head [17]byte
	binary.BigEndian.PutUint64(head[0:], l.Index)
	binary.BigEndian.PutUint64(head[8:], l.Term)
	head[16] = byte(l.Type)
	return crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, l.Data)
}

// summed returns copies of entries with their checksums, for the disk. The originals are being read by others.
func summed(logs []*raft.Log) []*raft.Log {
	out, copies, sums := make([]*raft.Log, len(logs)), make([]raft.Log, len(logs)), make([]byte, sumSize*len(logs))
	for i, l := range logs {
		sum := sums[i*sumSize : (i+1)*sumSize : (i+1)*sumSize]
		binary.BigEndian.PutUint32(sum, entrySum(l))
		copies[i] = *l
		copies[i].Extensions = sum
		out[i] = &copies[i]
	}
	return out
}

// checkEntry verifies an entry that was read from the disk and takes its checksum off.
func checkEntry(index uint64, l *raft.Log) error {
	switch {
	case l.Index != index:
		return fmt.Errorf("log entry %d says that it is entry %d", index, l.Index)
	case len(l.Extensions) != sumSize:
		return fmt.Errorf("log entry %d has no checksum", index)
	case binary.BigEndian.Uint32(l.Extensions) != entrySum(l):
		return fmt.Errorf("log entry %d has a wrong checksum", index)
	}
	l.Extensions = nil
	return nil
}

// sealRecord adds a checksum to a record of the stable store; openRecord takes it off.
func sealRecord(key string, value []byte) []byte {
	return binary.BigEndian.AppendUint32(value[:len(value):len(value)], recordSum(key, value))
}

func openRecord(key string, data []byte) ([]byte, error) {
	n := len(data) - sumSize
	if n < 0 || binary.BigEndian.Uint32(data[n:]) != recordSum(key, data[:n]) {
		return nil, fmt.Errorf("the record %s has a wrong checksum", key)
	}
	return data[:n], nil
}

func recordSum(key string, value []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(key), castagnoli), castagnoli, value)
}
