package server

import (
	"context"
)

// restLog streams a container's log as text.
func (s *Server) restLog(ctx context.Context, c restCall, out *restPieces) error {
	if s.config.Logs == nil || c.target.kind.Plural != "pods" {
		return errNoSuchResource()
	}
	out.contentType = "text/plain"
	return s.config.Logs(ctx, c.target.namespace, c.target.name, c.query,
		func() error { return out.send(nil) },
		func(data []byte) error { return out.send([][]byte{data}) })
}
