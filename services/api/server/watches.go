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

// atHand gives the events that can be had without waiting; see watchcache.Watcher.TryNext.
type atHand interface {
	TryNext() (endpoint.WatchEvent, bool)
}

// more is the rest of a batch; a watch that cannot look ahead has none.
type more func() (endpoint.WatchEvent, bool)

func moreOf(w endpoint.Watch) more {
	if a, ok := w.(atHand); ok {
		return a.TryNext
	}
	return func() (endpoint.WatchEvent, bool) { return endpoint.WatchEvent{}, false }
}

// watch runs one watch until its time is over, its client goes, or the server drains. started is called once it is
// registered, event for each event that had to be waited for (it may take more that are at hand), failed when it ends with an error that the client must hear of inside the stream. An error that is returned
// came before started, or is the client's own going.
func (s *Server) watch(ctx context.Context, t target, options metav1.ListOptions,
	started func() error, event func(endpoint.WatchEvent, more) error, failed func(metav1.Status) error) error {
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
	rest := moreOf(w)
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
		if err := event(e, rest); err != nil {
			return err
		}
	}
}

// batchSize is about how many bytes of events go out in one piece: a thousand small events at the start of a watch are a few
// messages, and a lone event never waits (see pacer for what does).
const batchSize = 64 << 10

// watchFrames is watch with frames as HTTP clients read them.
func (s *Server) watchFrames(ctx context.Context, t target, options metav1.ListOptions, f negotiate.Format,
	started func() error, send func([][]byte) error) error {
	frames := t.view.NewFrames(f)
	pace := s.pacing.begin()
	defer pace.end()
	return s.watch(ctx, t, options, started,
		func(e endpoint.WatchEvent, rest more) error {
			pace.wait(ctx)
			var batch [][]byte
			for size, ok := 0, true; ok; {
				parts, err := frames.Event(e)
				if err != nil {
					if parts, err = frames.Error(apistatus.Of(err)); err != nil {
						return err
					}
				}
				batch = append(batch, parts...)
				for _, p := range parts {
					size += len(p)
				}
				if size >= batchSize {
					break
				}
				e, ok = rest()
			}
			return send(batch)
		},
		func(status metav1.Status) error {
			parts, err := frames.Error(status)
			if err != nil {
				return err
			}
			return send(parts)
		})
}
