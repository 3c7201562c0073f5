package nodesession

import (
	"sync"

	"google.golang.org/grpc"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// call is an agent's Serve call in the hands of the client's goroutine. One goroutine may send while another receives.
type call struct {
	stream grpc.BidiStreamingServer[nodev1.ServeRequest, nodev1.ServeResponse]
	once   sync.Once
	over   chan struct{}
}

// send passes a frame to the agent.
func (c *call) send(f *nodev1.Frame) error { return c.stream.Send(&nodev1.ServeResponse{Frame: f}) }

// receive returns the agent's next frame.
func (c *call) receive() (*nodev1.Frame, error) {
	for {
		m, err := c.stream.Recv()
		if err != nil {
			return nil, err
		}
		if f := m.GetFrame(); f != nil {
			return f, nil
		}
	}
}

// close ends the agent's call, which ends a blocked receive.
func (c *call) close() { c.once.Do(func() { close(c.over) }) }
