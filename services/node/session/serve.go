package session

import (
	"context"
	"errors"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// Channels of exec, attach and logs.
const (
	stdinChannel  = 0
	stdoutChannel = 1
	stderrChannel = 2
)

// maxData is the most that one frame carries.
const maxData = 32 << 10

// handler does a stream's work and returns how it ended.
type handler func(ctx context.Context, c *conversation) *nodev1.End

// queuedFrames is how many of the client's frames may wait for the handler.
const queuedFrames = 16

// conversation is the agent's side of one stream.
type conversation struct {
	stream interface {
		Send(*nodev1.ServeRequest) error
		Recv() (*nodev1.ServeResponse, error)
	}
	sending sync.Mutex
	// frames are the client's, read by one goroutine; closed, with err set, when there are no more.
	frames chan *nodev1.Frame
	err    error
}

// read passes the client's frames on until the call ends.
func (c *conversation) read(ctx context.Context) {
	defer close(c.frames)
	for {
		m, err := c.stream.Recv()
		if err != nil {
			c.err = err
			return
		}
		if m.GetFrame() == nil {
			continue
		}
		select {
		case c.frames <- m.GetFrame():
		case <-ctx.Done():
			c.err = ctx.Err()
			return
		}
	}
}

// serve calls back and lets the handler work. The client's going away cancels the handler's context.
func (s *session) serve(ctx context.Context, id string, handle handler) error {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := s.service.Serve(ctx)
	if err != nil {
		cancel()
		return err
	}
	c := &conversation{stream: stream, frames: make(chan *nodev1.Frame, queuedFrames)}
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	if err := stream.Send(&nodev1.ServeRequest{Message: &nodev1.ServeRequest_StreamId{StreamId: id}}); err != nil {
		return err
	}
	reader.Go(func() { c.read(ctx) })
	end := handle(ctx, c)
	if err := c.send(&nodev1.Frame{Kind: &nodev1.Frame_End{End: end}}); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	// The api ends the call when it has read everything; ending it before would drop what is on its way.
	for range c.frames {
	}
	if errors.Is(c.err, io.EOF) {
		return nil
	}
	return c.err
}

func (c *conversation) send(frame *nodev1.Frame) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.stream.Send(&nodev1.ServeRequest{Message: &nodev1.ServeRequest_Frame{Frame: frame}})
}

// recv returns the client's next frame, or the error that ended the call: io.EOF when the client is done.
func (c *conversation) recv() (*nodev1.Frame, error) {
	frame, ok := <-c.frames
	if !ok {
		return nil, c.err
	}
	return frame, nil
}

// writer writes to one channel.
func (c *conversation) writer(channel uint32) io.Writer { return &channelWriter{c, channel} }

type channelWriter struct {
	c       *conversation
	channel uint32
}

// Write sends p in frames; it blocks as long as the client does not keep up.
func (w *channelWriter) Write(p []byte) (int, error) {
	sent := 0
	for len(p) > 0 {
		n := min(len(p), maxData)
		// The transport keeps the message until it is sent; p is the caller's again after Write.
		data := append([]byte(nil), p[:n]...)
		if err := w.c.send(&nodev1.Frame{Kind: &nodev1.Frame_Data{Data: &nodev1.Data{Channel: w.channel, Data: data}}}); err != nil {
			return sent, err
		}
		sent += n
		p = p[n:]
	}
	return sent, nil
}

// failed is the end of a stream that broke.
func failed(err error) *nodev1.End {
	return &nodev1.End{Reason: string(metav1.StatusReasonInternalError), Message: err.Error()}
}
