package gateway

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// forwarded is one connection to a port of the pod, at the client's end.
type forwarded interface {
	// write sends data to the client; an error means that the client closed this connection.
	write(data []byte) error
	// closeWrite says that the pod's end sends no more.
	closeWrite()
	// fail ends the connection with a reason.
	fail(message string)
}

// forwards numbers the connections of one port-forward and routes frames to them.
type forwards struct {
	c *conversation

	// mu guards the map; it is never held over a send or a write.
	mu       sync.Mutex
	next     uint32
	channels map[uint32]forwarded
}

func newForwards(c *conversation) *forwards {
	return &forwards{c: c, channels: map[uint32]forwarded{}}
}

// open begins a connection to port; its channel is the next number.
func (f *forwards) open(port uint16, to forwarded) (channel uint32, err error) {
	f.mu.Lock()
	channel = f.next
	f.next++
	f.channels[channel] = to
	f.mu.Unlock()
	return channel, f.c.send(&nodev1.Frame{Kind: &nodev1.Frame_Open{Open: &nodev1.OpenChannel{Channel: channel, Port: uint32(port)}}})
}

// drop forgets a connection.
func (f *forwards) drop(channel uint32) {
	f.mu.Lock()
	delete(f.channels, channel)
	f.mu.Unlock()
}

// abandon tells the node that the client's end of a connection is gone altogether.
func (f *forwards) abandon(channel uint32) {
	f.drop(channel)
	// If the conversation is over, the node knows already.
	_ = f.c.send(&nodev1.Frame{Kind: &nodev1.Frame_Error{Error: &nodev1.ChannelError{Channel: channel, Message: "the client closed the connection"}}})
}

func (f *forwards) find(channel uint32) forwarded {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.channels[channel]
}

// receive routes frames until the conversation ends. Frames of a forgotten connection were on their way; they are dropped.
func (f *forwards) receive() {
	end := f.c.receive(func(frame *nodev1.Frame) {
		switch {
		case frame.GetData() != nil:
			channel := frame.GetData().GetChannel()
			if to := f.find(channel); to != nil && to.write(frame.GetData().GetData()) != nil {
				f.abandon(channel)
			}
		case frame.GetClose() != nil:
			if to := f.find(frame.GetClose().GetChannel()); to != nil {
				to.closeWrite()
			}
		case frame.GetError() != nil:
			channel := frame.GetError().GetChannel()
			if to := f.find(channel); to != nil {
				f.drop(channel)
				to.fail(frame.GetError().GetMessage())
			}
		}
	})
	if end.GetMessage() == "" || f.c.ctx.Err() != nil {
		return // all went well, or this end has ended it
	}
	f.mu.Lock()
	left := f.channels
	f.channels = map[uint32]forwarded{}
	f.mu.Unlock()
	for _, to := range left {
		to.fail(end.GetMessage())
	}
}

// forwardPorts reads the query's ports: repeated, or separated by commas.
func forwardPorts(values []string) ([]uint16, error) {
	var ports []uint16
	for _, v := range values {
		for _, p := range strings.Split(v, ",") {
			port, err := parsePort(p)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			ports = append(ports, port)
		}
	}
	if len(ports) == 0 {
		return nil, apierrors.NewBadRequest(`query parameter "ports" is required`)
	}
	if len(ports) > 127 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("%d ports are more than one websocket has channels for", len(ports)))
	}
	return ports, nil
}

func parsePort(s string) (uint16, error) {
	p, err := strconv.ParseUint(s, 10, 16)
	if err != nil || p == 0 {
		return 0, fmt.Errorf("%q is not a port: it must be a number from 1 to 65535", s)
	}
	return uint16(p), nil
}
