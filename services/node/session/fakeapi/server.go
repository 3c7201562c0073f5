// Package fakeapi is the api's side of node sessions, for tests of the agent's: it accepts sessions on loopback and opens streams on them.
package fakeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"google.golang.org/grpc"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// Server is a NodeService. Close ends it.
type Server struct {
	nodev1.UnimplementedNodeServiceServer
	server   *grpc.Server
	listener net.Listener
	out      chan *nodev1.SessionResponse
	mu       sync.Mutex
	next     int
	waiting  map[string]chan Answer
}

// Answer is what an agent did with a stream: it refused it, or serves it by Call.
type Answer struct {
	Refused *nodev1.Refuse
	Call    *Call
}

// Call is a stream that an agent serves.
type Call struct {
	stream grpc.BidiStreamingServer[nodev1.ServeRequest, nodev1.ServeResponse]
	done   chan struct{}
	once   sync.Once
}

// Send passes a frame to the agent.
func (c *Call) Send(frame *nodev1.Frame) error {
	return c.stream.Send(&nodev1.ServeResponse{Frame: frame})
}

// Recv returns the agent's next frame.
func (c *Call) Recv() (*nodev1.Frame, error) {
	m, err := c.stream.Recv()
	return m.GetFrame(), err
}

// Close ends the call, as the api does when the client has gone.
func (c *Call) Close() { c.once.Do(func() { close(c.done) }) }

// ReadAll collects what comes on each channel until the end.
func (c *Call) ReadAll() (map[uint32]string, *nodev1.End, error) {
	out := map[uint32]string{}
	for {
		frame, err := c.Recv()
		if err != nil {
			return out, nil, err
		}
		switch kind := frame.Kind.(type) {
		case *nodev1.Frame_Data:
			out[kind.Data.Channel] += string(kind.Data.Data)
		case *nodev1.Frame_End:
			c.Close()
			return out, kind.End, nil
		}
	}
}

// Start serves on a free port.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{server: grpc.NewServer(grpc.ForceServerCodecV2(wire.Codec{})), listener: listener, out: make(chan *nodev1.SessionResponse), waiting: map[string]chan Answer{}}
	nodev1.RegisterNodeServiceServer(s.server, s)
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return s, nil
}

// Address is host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close ends all sessions.
func (s *Server) Close() { s.server.Stop() }

// Session implements NodeService.
func (s *Server) Session(stream grpc.BidiStreamingServer[nodev1.SessionRequest, nodev1.SessionResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetHello() == nil {
		return errors.New("the first message is not hello")
	}
	if err := stream.Send(&nodev1.SessionResponse{Message: &nodev1.SessionResponse_Welcome{Welcome: &nodev1.Welcome{}}}); err != nil {
		return err
	}
	received := make(chan error, 1)
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				received <- err
				return
			}
			if r := m.GetRefuse(); r != nil {
				s.answer(r.GetStreamId(), Answer{Refused: r})
			}
		}
	}()
	for {
		select {
		case m := <-s.out:
			if err := stream.Send(m); err != nil {
				return err
			}
		case err := <-received:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (s *Server) answer(id string, a Answer) {
	s.mu.Lock()
	waiting := s.waiting[id]
	delete(s.waiting, id)
	s.mu.Unlock()
	if waiting != nil {
		waiting <- a
	}
}

// Serve implements NodeService.
func (s *Server) Serve(stream grpc.BidiStreamingServer[nodev1.ServeRequest, nodev1.ServeResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	call := &Call{stream: stream, done: make(chan struct{})}
	s.answer(first.GetStreamId(), Answer{Call: call})
	select {
	case <-call.done:
		return nil
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

// Open asks the agent for a stream and waits for its answer.
func (s *Server) Open(ctx context.Context, open *nodev1.OpenStream) (Answer, error) {
	waiting := make(chan Answer, 1)
	s.mu.Lock()
	s.next++
	open.StreamId = strconv.Itoa(s.next)
	s.waiting[open.StreamId] = waiting
	s.mu.Unlock()
	select {
	case s.out <- &nodev1.SessionResponse{Message: &nodev1.SessionResponse_Open{Open: open}}:
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("no agent has a session: %w", ctx.Err())
	}
	select {
	case a := <-waiting:
		return a, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("the agent does not answer: %w", ctx.Err())
	}
}
