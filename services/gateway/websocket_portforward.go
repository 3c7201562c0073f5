package gateway

import (
	"encoding/binary"
	"net/http"
	"sync"
	"sync/atomic"
)

// Subprotocols of a port-forward over plain websocket channels. Port i of the query has the channels 2i for data and 2i+1 for errors; the
// first message on each is the port, two bytes in little-endian order.
const (
	forwardV4       = "v4.channel.k8s.io"
	forwardV4Base64 = "v4.base64.channel.k8s.io"
)

// socketForwarded is one port's pair of channels.
type socketForwarded struct {
	socket *channelSocket
	data   byte
	done   func()
}

// websocketPortForward upgrades the connection and bridges it. The protocol has no half-close: the connection ends when all
// ports have.
func (s *Service) websocketPortForward(w http.ResponseWriter, r *http.Request, c *conversation, protocol string, ports []uint16) error {
	ws, err := upgradeWebsocket(w, r, protocol)
	if err != nil {
		return err
	}
	socket := &channelSocket{ws: ws, base64: protocol == forwardV4Base64}
	f := newForwards(c)
	var left atomic.Int32
	left.Store(int32(len(ports)))
	done := func() {
		if left.Add(-1) == 0 {
			c.cancel()
		}
	}
	for i, port := range ports {
		to := &socketForwarded{socket: socket, data: byte(2 * i), done: sync.OnceFunc(done)}
		number := binary.LittleEndian.AppendUint16(nil, port)
		for channel := to.data; channel <= to.data+1; channel++ {
			if err == nil {
				err = socket.write(channel, number)
			}
		}
		if err == nil {
			_, err = f.open(port, to) // channel i: they are opened in order
		}
	}
	if err != nil {
		socket.close()
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			channel, data, err := socket.read()
			if err == nil && channel%2 == 0 && int(channel/2) < len(ports) {
				err = c.sendData(uint32(channel/2), data)
			}
			if err != nil {
				c.cancel()
				return
			}
		}
	})
	f.receive()
	c.cancel()
	socket.close()
	wg.Wait()
	return nil
}

func (p *socketForwarded) write(data []byte) error { return p.socket.write(p.data, data) }

func (p *socketForwarded) closeWrite() { p.done() }

func (p *socketForwarded) fail(message string) {
	// A client that left does not learn why.
	_ = p.socket.write(p.data+1, []byte(message))
	p.done()
}
