package session

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport/spdy"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/node/podstate"
)

const (
	portForwardProtocol = "portforward.k8s.io"
	// maxConnections bounds the open connections of one port-forward.
	maxConnections = 1024
	// queuedData is how many frames of a connection may wait for the pod to read them.
	queuedData = 64
)

// portForward connects to ports inside the pod's network, through the runtime.
func (s *session) portForward(ctx context.Context, state *podstate.Pod) (handler, error) {
	sandbox := state.ReadySandbox()
	if sandbox == nil {
		return nil, refuse(metav1.StatusReasonBadRequest, "unable to forward port because pod is not running")
	}
	address, err := s.config.Runtime.PortForward(ctx, &runtimeapi.PortForwardRequest{PodSandboxId: sandbox.ID})
	if err != nil {
		return nil, runtimeError(err)
	}
	return func(ctx context.Context, c *conversation) *nodev1.End {
		u, err := url.Parse(address)
		if err != nil {
			return failed(err)
		}
		transport, upgrader, err := spdy.RoundTripperFor(&rest.Config{})
		if err != nil {
			return failed(err)
		}
		connection, _, err := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", u).Dial(portForwardProtocol)
		if err != nil {
			return failed(fmt.Errorf("connecting to the container runtime: %w", err))
		}
		f := &forward{conversation: c, connection: connection, channels: map[uint32]*forwarded{}}
		stop := context.AfterFunc(ctx, func() { connection.Close() })
		defer stop()
		f.run()
		return &nodev1.End{}
	}, nil
}

// forward is one port-forward with its connections.
type forward struct {
	conversation *conversation
	connection   httpstream.Connection
	group        sync.WaitGroup

	mu       sync.Mutex
	channels map[uint32]*forwarded
}

// forwarded is one connection.
type forwarded struct {
	// frames are the client's data; closed when it sends no more.
	frames chan []byte
	// done is closed when the connection has ended.
	done chan struct{}
	eof  sync.Once
	// abort is closed when the client's end is gone altogether.
	abort     chan struct{}
	abandoned sync.Once
}

func (f *forwarded) close() { f.eof.Do(func() { close(f.frames) }) }

// run reads the client's frames until it goes away.
func (f *forward) run() {
	defer f.group.Wait()
	defer f.connection.Close()
	for {
		frame, err := f.conversation.recv()
		if err != nil {
			f.mu.Lock()
			for _, channel := range f.channels {
				channel.close()
			}
			f.mu.Unlock()
			return
		}
		switch kind := frame.Kind.(type) {
		case *nodev1.Frame_Open:
			f.open(kind.Open.GetChannel(), kind.Open.GetPort())
		case *nodev1.Frame_Data:
			if channel := f.find(kind.Data.GetChannel()); channel != nil {
				select {
				case channel.frames <- kind.Data.GetData():
				case <-channel.done:
				}
			}
		case *nodev1.Frame_Close:
			if channel := f.find(kind.Close.GetChannel()); channel != nil {
				channel.close()
			}
		case *nodev1.Frame_Error:
			if channel := f.find(kind.Error.GetChannel()); channel != nil {
				channel.abandoned.Do(func() { close(channel.abort) })
			}
		}
	}
}

func (f *forward) find(channel uint32) *forwarded {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.channels[channel]
}

func (f *forward) open(id, port uint32) {
	channel := &forwarded{frames: make(chan []byte, queuedData), done: make(chan struct{}), abort: make(chan struct{})}
	f.mu.Lock()
	_, taken := f.channels[id]
	full := len(f.channels) >= maxConnections
	if !taken && !full {
		f.channels[id] = channel
	}
	f.mu.Unlock()
	if taken || full {
		f.fail(id, fmt.Sprintf("channel %d is in use, or more than %d connections are open", id, maxConnections))
		return
	}
	f.group.Go(func() {
		defer func() {
			f.mu.Lock()
			delete(f.channels, id)
			f.mu.Unlock()
			close(channel.done)
		}()
		if err := f.carry(id, port, channel); err != nil {
			f.fail(id, err.Error())
			return
		}
		_ = f.conversation.send(&nodev1.Frame{Kind: &nodev1.Frame_Close{Close: &nodev1.CloseChannel{Channel: id}}}) // fails only when the client is gone
	})
}

func (f *forward) fail(id uint32, message string) {
	_ = f.conversation.send(&nodev1.Frame{Kind: &nodev1.Frame_Error{Error: &nodev1.ChannelError{Channel: id, Message: message}}}) // as above
}

// carry opens the connection's two streams with the runtime and copies both ways until the pod closes.
func (f *forward) carry(id, port uint32, channel *forwarded) error {
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(int(id)))
	errors, err := f.connection.CreateStream(headers)
	if err != nil {
		return fmt.Errorf("opening port %d: %w", port, err)
	}
	errors.Close() // this side says nothing on it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := f.connection.CreateStream(headers)
	if err != nil {
		return fmt.Errorf("opening port %d: %w", port, err)
	}
	defer f.connection.RemoveStreams(errors, data)
	failure := make(chan string, 1)
	f.group.Go(func() {
		message, err := io.ReadAll(errors)
		if err != nil {
			message = []byte(err.Error())
		}
		failure <- string(message)
	})
	f.group.Go(func() {
		defer data.Close()
		for {
			select {
			case bytes, ok := <-channel.frames:
				if !ok {
					return
				}
				if _, err := data.Write(bytes); err != nil {
					return
				}
			case <-channel.abort:
				_ = data.Reset() // ends the copying below
				_ = errors.Reset()
				return
			case <-channel.done:
				return
			}
		}
	})
	_, err = io.Copy(f.conversation.writer(id), data)
	select {
	case <-channel.abort:
		return nil
	default:
	}
	if message := <-failure; message != "" {
		return fmt.Errorf("forwarding port %d: %s", port, message)
	}
	return err
}
