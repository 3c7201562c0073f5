package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/warning"
	"github.com/orrery-io/orrery/services/internal/wire"
)

func (s *Server) restGet(ctx context.Context, c restCall) (answer, error) {
	switch c.target.subresource {
	case "log":
		return answer{}, errStreamOnly
	case "exec", "attach", "portforward":
		return answer{}, errUpgradeRequired
	}
	if err := c.target.check("get"); err != nil {
		return answer{}, err
	}
	f, err := c.format(negotiate.Single)
	if err != nil {
		return answer{}, err
	}
	options, err := negotiate.GetOptions(c.query)
	if err != nil {
		return answer{}, err
	}
	return c.target.get(ctx, options, f)
}

// restList is a list in one message, for gRPC clients that call Get for it; HTTP's come to restStream.
func (s *Server) restList(ctx context.Context, c restCall) (answer, error) {
	if err := c.target.check("list"); err != nil {
		return answer{}, err
	}
	f, err := c.format(negotiate.Collection)
	if err != nil {
		return answer{}, err
	}
	options, err := negotiate.ListOptions(c.query)
	if err != nil {
		return answer{}, err
	}
	a := answer{contentType: f.ContentType()}
	err = c.target.list(ctx, options, f, func(parts [][]byte) error {
		a.parts = append(a.parts, parts...)
		return nil
	})
	return a, err
}

// restStream answers lists, watches and logs in pieces, and anything else that a GET may ask for in one.
func (s *Server) restStream(stream grpc.ServerStream, q *restRequest) error {
	ctx, warnings := warning.WithRecorder(stream.Context())
	h := headersOf(ctx, q)
	if !q.info.Streams() {
		a, err := s.restUnary(ctx, q)
		if err != nil {
			return err
		}
		return stream.SendMsg(a)
	}
	c, err := s.resolve(q, h)
	if err != nil {
		return err
	}
	out := &restPieces{stream: stream, warnings: warnings}
	switch {
	case q.info.Verb == "watch":
		return s.restWatch(ctx, c, out)
	case q.info.Verb == "list":
		return s.restListPieces(ctx, c, out)
	}
	return s.restLog(ctx, c, out)
}

// restPieces sends one answer over a stream: headers with the first piece, the content type in it.
type restPieces struct {
	stream      grpc.ServerStream
	warnings    *warning.Recorder
	contentType string
	begun       bool
}

// send sends a piece. The first may be empty: it flushes the headers of an answer whose content comes later.
func (r *restPieces) send(parts [][]byte) error {
	body := &wire.HTTPBody{Parts: parts}
	if !r.begun {
		r.begun = true
		body.ContentType = r.contentType
		if w := r.warnings.Headers(); len(w) > 0 {
			if err := r.stream.SetHeader(metadata.MD{"warning": w}); err != nil {
				return err
			}
		}
	}
	return r.stream.SendMsg(body)
}

func (s *Server) restListPieces(ctx context.Context, c restCall, out *restPieces) error {
	if err := c.target.check("list"); err != nil {
		return err
	}
	f, err := c.format(negotiate.Collection)
	if err != nil {
		return err
	}
	options, err := negotiate.ListOptions(c.query)
	if err != nil {
		return err
	}
	out.contentType = f.ContentType()
	return c.target.list(ctx, options, f, out.send)
}

func (s *Server) restWatch(ctx context.Context, c restCall, out *restPieces) error {
	if err := c.target.check("watch"); err != nil {
		return err
	}
	f, err := c.format(negotiate.Stream)
	if err != nil {
		return err
	}
	options, err := watchOptions(c)
	if err != nil {
		return err
	}
	out.contentType = f.StreamContentType()
	return s.watchFrames(ctx, c.target, options, f, func() error { return out.send(nil) }, out.send)
}

// watchOptions are the query's, with the name that the old /watch/ paths carry as a selector.
func watchOptions(c restCall) (metav1.ListOptions, error) {
	options, err := negotiate.ListOptions(c.query)
	if err != nil {
		return options, err
	}
	if c.info.Name != "" && options.FieldSelector == "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", c.info.Name).String()
	}
	return options, nil
}
