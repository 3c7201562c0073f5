package mvcc

import (
	"encoding/binary"
	"hash/crc32"
)

// HashKeys is a CRC-32C of all versions of all keys that were made up to rev, deletions among them. Two views that were
// compacted at the same revision and hold the same content have the same hash. It takes time in proportion to the data.
func (v *View) HashKeys(rev int64) (uint32, error) {
	if err := checkRevision(rev, v.rev, v.compactRev); err != nil {
		return 0, err
	}
	if rev == 0 {
		rev = v.rev
	}
	var sum uint32
	var head []byte
	v.tree.Scan(func(h *history) bool {
		for _, x := range h.vers {
			if x.kv.ModRevision > rev {
				break
			}
			head = head[:0]
			for _, n := range []int64{x.kv.ModRevision, x.kv.CreateRevision, x.kv.Version, x.kv.Lease, int64(len(h.key)), int64(len(x.kv.Value))} {
				head = binary.AppendVarint(head, n)
			}
			if x.deleted {
				head = append(head, 1)
			}
			sum = crc32.Update(sum, castagnoli, head)
			sum = crc32.Update(sum, castagnoli, h.key)
			sum = crc32.Update(sum, castagnoli, x.kv.Value)
		}
		return true
	})
	return sum, nil
}
