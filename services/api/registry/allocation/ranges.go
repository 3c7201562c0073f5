package allocation

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
)

// pool is a range of numbers that things are chosen from. Dynamic choice begins at dynamic: below it there is room for those that
// are asked for by number.
type pool struct{ first, dynamic, last uint32 }

// addresses is the pool of a service range without its first and last address, which name the network and its broadcast.
func addresses(p netip.Prefix) pool {
	size := uint32(1) << (32 - p.Bits())
	base := number(p.Masked().Addr())
	return pool{first: base + 1, dynamic: base + 1 + reserved(size), last: base + size - 2}
}

// reserved is how many addresses dynamic choice leaves alone as long as it can: a sixteenth, at least 16 and at most 256. Ranges that are
// too small for that have none (KEP-3070).
func reserved(size uint32) uint32 {
	if size < 32 {
		return 0
	}
	return min(max(16, size/16), 256) - 1
}

// ports is the pool of node ports. A range of the usual size keeps its first 86 for those who ask for one by number (KEP-3668).
func ports(first, last int32) pool {
	size := uint32(last-first) + 1
	low := uint32(0)
	if size >= 32 {
		low = min(max(16, size/32), 128)
	}
	return pool{first: uint32(first), dynamic: uint32(first) + low, last: uint32(last)}
}

func (p pool) contains(n uint32) bool { return n >= p.first && n <= p.last }

// random is any number of the dynamic part.
func (p pool) random() uint32 { return p.dynamic + rand.N(p.last-p.dynamic+1) }

// free are the numbers that are not taken, in the order in which to try them: the dynamic part from a random place on, then the rest.
func (p pool) free(taken func(uint32) bool) func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		size := p.last - p.dynamic + 1
		start := rand.N(size)
		for i := range size {
			if n := p.dynamic + (start+i)%size; !taken(n) && !yield(n) {
				return
			}
		}
		for n := p.first; n < p.dynamic; n++ {
			if !taken(n) && !yield(n) {
				return
			}
		}
	}
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func address(n uint32) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	return netip.AddrFrom4(b)
}
