package gateway

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// compressAbove is the size from which an answer is compressed, as in Kubernetes: smaller ones are not worth the time.
const compressAbove = 128 << 10

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic("gateway: " + err.Error()) // the level is a valid constant
	}
	return w
}}

// response stands between grpc-gateway and the client's connection. It puts the api's status code in place of the mux's 200,
// swallows what the mux writes after an error that was already answered, and compresses large answers.
type response struct {
	http.ResponseWriter
	// code is what the api asked for; 0 leaves the mux's.
	code int
	// closed swallows further writes.
	closed bool

	wroteHeader bool
	status      int
	bytes       int64

	// compress is set when the client takes gzip and the answer has an end. Until compressAbove bytes are there, they wait in held.
	compress bool
	held     []byte
	zip      *gzip.Writer
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(code int) {
	if w.closed || w.wroteHeader {
		return
	}
	if w.code != 0 && code == http.StatusOK {
		code = w.code
	}
	w.wroteHeader, w.status = true, code
	h := w.Header()
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-cache, private")
	}
	if h.Get("Content-Encoding") != "" {
		w.compress = false
	}
	if !w.compress {
		w.ResponseWriter.WriteHeader(code)
	}
	// Otherwise the headers wait until it is known whether the body is compressed.
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if w.closed {
		return len(p), nil
	}
	w.WriteHeader(http.StatusOK)
	w.bytes += int64(len(p))
	switch {
	case w.zip != nil:
		return w.zip.Write(p)
	case !w.compress:
		if len(p) == 0 {
			return 0, nil
		}
		return w.ResponseWriter.Write(p)
	case len(w.held)+len(p) <= compressAbove:
		w.held = append(w.held, p...)
		return len(p), nil
	}
	h := w.Header()
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	h.Del("Content-Length")
	w.ResponseWriter.WriteHeader(w.status)
	w.zip, _ = gzipWriters.Get().(*gzip.Writer)
	w.zip.Reset(w.ResponseWriter)
	if _, err := w.zip.Write(w.held); err != nil {
		return 0, err
	}
	w.held = nil
	return w.zip.Write(p)
}

// FlushError implements http.ResponseController's Flush. An answer that may be compressed is not flushed: it has an end, and
// comes whole soon.
func (w *response) FlushError() error {
	if w.closed || w.compress {
		return nil
	}
	w.WriteHeader(http.StatusOK)
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// finish sends what is held.
func (w *response) finish() error {
	if w.zip != nil {
		err := w.zip.Close()
		w.zip.Reset(nil)
		gzipWriters.Put(w.zip)
		w.zip = nil
		return err
	}
	if w.closed || !w.compress || !w.wroteHeader {
		return nil
	}
	w.compress = false
	w.Header().Set("Content-Length", strconv.Itoa(len(w.held)))
	w.ResponseWriter.WriteHeader(w.status)
	_, err := w.ResponseWriter.Write(w.held)
	if errors.Is(err, http.ErrBodyNotAllowed) {
		return nil
	}
	return err
}

// drop forgets what is held, so that an error can still be answered; false when bytes are already on their way.
func (w *response) drop() bool {
	if w.wroteHeader && (!w.compress || w.zip != nil) {
		return false
	}
	w.wroteHeader, w.held, w.bytes, w.code = false, nil, 0, 0
	w.compress = false
	return true
}

func acceptsGzip(r *http.Request) bool {
	for _, v := range r.Header.Values("Accept-Encoding") {
		for _, e := range strings.Split(v, ",") {
			name, params, _ := strings.Cut(strings.TrimSpace(e), ";")
			if name == "gzip" && strings.ReplaceAll(params, " ", "") != "q=0" {
				return true
			}
		}
	}
	return false
}

var _ io.Writer = (*response)(nil)
