package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// Subprotocols of exec and attach. Every message begins with its channel; v4 adds the Status on the error channel, v5 the
// close signal for stdin. In the base64 variants messages are text.
const (
	channelV5       = "v5.channel.k8s.io"
	channelV4       = "v4.channel.k8s.io"
	channelV4Base64 = "v4.base64.channel.k8s.io"
	channelV1       = "channel.k8s.io"
	channelV1Base64 = "base64.channel.k8s.io"
)

const (
	// closeSignal is the channel number with which v5 closes another one.
	closeSignal = 255
	// maxMessageFromClient bounds what one message makes the gateway hold.
	maxMessageFromClient = 32 << 20
	closeWait            = 5 * time.Second
)

// channelSocket is a websocket whose messages begin with a channel number.
type channelSocket struct {
	ws     *websocket.Conn
	base64 bool
	// writing serializes messages, which may come from several goroutines.
	writing sync.Mutex
}

// upgradeWebsocket takes the client's connection over. Any origin may connect, as in Kubernetes: who a client is depends on what
// its request carries, never on a cookie.
func upgradeWebsocket(w http.ResponseWriter, r *http.Request, protocol string) (*websocket.Conn, error) {
	upgrader := websocket.Upgrader{
		ReadBufferSize:  maxData + 1024,
		WriteBufferSize: maxData + 1024,
		CheckOrigin:     func(*http.Request) bool { return true },
	}
	h := http.Header{}
	if protocol != "" {
		h.Set(wsstream.WebSocketProtocolHeader, protocol)
	}
	ws, err := upgrader.Upgrade(w, r, h)
	if err != nil {
		return nil, err // Upgrade has answered
	}
	ws.SetReadLimit(maxMessageFromClient)
	return ws, nil
}

// read returns the next message and its channel.
func (s *channelSocket) read() (channel byte, data []byte, err error) {
	for {
		_, message, err := s.ws.ReadMessage()
		if err != nil {
			return 0, nil, err
		}
		if len(message) == 0 {
			continue
		}
		channel, data = message[0], message[1:]
		if s.base64 {
			channel -= '0'
			decoded := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
			n, err := base64.StdEncoding.Decode(decoded, data)
			if err != nil {
				return 0, nil, fmt.Errorf("a message on channel %d is not base64: %w", channel, err)
			}
			data = decoded[:n]
		}
		return channel, data, nil
	}
}

// write sends one message.
func (s *channelSocket) write(channel byte, data []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	kind := websocket.BinaryMessage
	if s.base64 {
		kind = websocket.TextMessage
		channel += '0'
		data = base64.StdEncoding.AppendEncode(nil, data)
	}
	m, err := s.ws.NextWriter(kind)
	if err != nil {
		return err
	}
	if _, err := m.Write([]byte{channel}); err != nil {
		return err
	}
	if _, err := m.Write(data); err != nil {
		return err
	}
	return m.Close()
}

// close says goodbye and closes the connection.
func (s *channelSocket) close() {
	// Both fail only when the client closed first.
	_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(closeWait))
	_ = s.ws.Close()
}

// socketClient is a command's client over a websocket.
type socketClient struct {
	channelSocket
	options   commandOptions
	protocol  string
	closeOnce sync.Once
}

// websocketCommand upgrades the connection and bridges it.
func (s *Service) websocketCommand(w http.ResponseWriter, r *http.Request, c *conversation, protocol string, o commandOptions) error {
	ws, err := upgradeWebsocket(w, r, protocol)
	if err != nil {
		return err
	}
	client := &socketClient{
		channelSocket: channelSocket{ws: ws, base64: protocol == channelV4Base64 || protocol == channelV1Base64},
		options:       o,
		protocol:      protocol,
	}
	// An empty message on the first output channel tells the client that the connection stands.
	first := byte(channelError)
	if o.stdout {
		first = channelStdout
	} else if o.stderr {
		first = channelStderr
	}
	if err := client.channelSocket.write(first, nil); err != nil {
		client.close()
		return err
	}
	bridgeCommand(c, client)
	return nil
}

func (p *socketClient) run(c *conversation) {
	for {
		channel, data, err := p.read()
		if err != nil {
			return
		}
		switch {
		case channel == channelStdin && p.options.stdin:
			err = c.sendData(channelStdin, data)
		case channel == channelResize && p.options.tty:
			err = sendSizes(c, data)
		case channel == closeSignal && p.protocol == channelV5 && len(data) == 1 && data[0] == channelStdin:
			err = c.sendClose(channelStdin)
		}
		if err != nil {
			return
		}
	}
}

func sendSizes(c *conversation, data []byte) error {
	sizes := json.NewDecoder(bytes.NewReader(data))
	var size terminalSize
	for sizes.Decode(&size) == nil { // until the end, or what is no size
		if err := c.send(size.frame()); err != nil {
			return err
		}
	}
	return nil
}

func (p *socketClient) write(channel uint32, data []byte) error {
	if channel == channelStdout && p.options.stdout || channel == channelStderr && p.options.stderr {
		return p.channelSocket.write(byte(channel), data)
	}
	return nil // the client did not ask for it
}

// closeWrite does nothing: a websocket's output channels end with the connection.
func (p *socketClient) closeWrite(uint32) {}

func (p *socketClient) finish(end *nodev1.End) {
	asStatus := p.protocol == channelV5 || p.protocol == channelV4 || p.protocol == channelV4Base64
	if message := endMessage(end, asStatus); len(message) > 0 {
		// A client that left does not learn how the command ended.
		_ = p.channelSocket.write(channelError, message)
	}
}

func (p *socketClient) close() { p.closeOnce.Do(p.channelSocket.close) }
