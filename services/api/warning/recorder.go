package warning

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Limits of what one response carries, as in Kubernetes: headers have no room for more.
const (
	maxTotal = 4 << 10
	maxEach  = 256
)

// Recorder collects the warnings of one request, each text once.
type Recorder struct {
	mu    sync.Mutex
	texts []string
	size  int
}

type key struct{}

// WithRecorder returns a context whose warnings go to the recorder that is returned beside it.
func WithRecorder(ctx context.Context) (context.Context, *Recorder) {
	r := &Recorder{}
	return context.WithValue(ctx, key{}, r), r
}

// Add records text for the user; without a recorder in ctx it does nothing.
func Add(ctx context.Context, text string) {
	if r, ok := ctx.Value(key{}).(*Recorder); ok {
		r.Add(text)
	}
}

// Add records text.
func (r *Recorder) Add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.texts {
		if t == text {
			return
		}
	}
	if r.size += len(text); r.size > maxTotal {
		if len(text) > maxEach {
			text = text[:cut(text, maxEach)]
		}
		if r.size > 2*maxTotal {
			return
		}
	}
	r.texts = append(r.texts, text)
}

// Headers is each warning as a value of the Warning header: code 299, no agent, quoted text (RFC 7234 section 5.5).
func (r *Recorder) Headers() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.texts) == 0 {
		return nil
	}
	out := make([]string, len(r.texts))
	for i, t := range r.texts {
		out[i] = "299 - " + quote(t)
	}
	return out
}

// quote makes an RFC 7230 quoted-string; control characters have no form in it and are dropped.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c == 0x7f:
			b.WriteByte(' ')
		case c > 0x7f:
			// Header values are ASCII on the wire; gRPC metadata refuses anything else.
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(c), "'"))
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func cut(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
