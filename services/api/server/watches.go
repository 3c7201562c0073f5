package server

import (
	"context"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/internal/apistatus"
)

// watch runs one watch until its time is over, its client goes, or the server drains. started is called once it is
// registered, event for each event, failed when it ends with an error that the client must hear of inside the stream. An error that is returned
// came before started, or is the client's own going.
func (s *Server) watch(ctx context.Context, t target, options metav1.ListOptions,
	started func() error, event func(endpoint.WatchEvent) error, failed func(metav1.Status) error) error {
	if err := t.check("watch"); err != nil {
		return err
	}
	// A drain ends the watch in order: the client resumes elsewhere from its last revision.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.drain, cancel)()
	w, err := t.verbs.Watch(ctx, t.namespace, options)
	if err != nil {
		return err
	}
	defer w.Close()
	s.metrics.watches.Inc()
	defer s.metrics.watches.Dec()
	if err := started(); err != nil {
		return err
	}
	for {
		e, err := w.Next(ctx)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), s.drain.Err() != nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			return failed(apistatus.Of(err))
		}
		if err := event(e); err != nil {
			return err
		}
	}
}

// watchFrames is watch with frames as HTTP clients read them.
func (s *Server) watchFrames(ctx context.Context, t target, options metav1.ListOptions, f negotiate.Format,
	started func() error, send func([][]byte) error) error {
	frames := t.view.NewFrames(f)
	return s.watch(ctx, t, options, started,
		func(e endpoint.WatchEvent) error {
			parts, err := frames.Event(e)
			if err != nil {
				parts, err = frames.Error(apistatus.Of(err))
				if err != nil {
					return err
				}
			}
			return send(parts)
		},
		func(status metav1.Status) error {
			parts, err := frames.Error(status)
			if err != nil {
				return err
			}
			return send(parts)
		})
}
