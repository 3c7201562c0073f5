package history

import (
	"bytes"
	"fmt"
	"hash/fnv"
)

// maxPadding bounds what Value adds: values are as large as small API objects.
const maxPadding = 1200

// Value is the content written for a name: the name itself and a padding that follows from it, so that a reader can tell
// whether it got all of it and nothing else.
func Value(name string) []byte {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	seed := h.Sum64()
	n := int(seed % maxPadding)
	out := make([]byte, 0, len(name)+1+n)
	out = append(out, name...)
	out = append(out, '|')
	for range n {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		out = append(out, 'a'+byte(seed%26))
	}
	return out
}

// Name is the inverse of Value. A value that is not whole comes out as a name that no writer ever used.
func Name(value []byte) string {
	name, _, ok := bytes.Cut(value, []byte{'|'})
	if len(value) == 0 {
		return ""
	}
	if !ok || !bytes.Equal(value, Value(string(name))) {
		return fmt.Sprintf("damaged value of %d bytes (%.40q)", len(value), value)
	}
	return string(name)
}
