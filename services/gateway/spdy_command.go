package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

const (
	// streamTimeout is how long a client has to open its streams.
	streamTimeout = 30 * time.Second
	// spdyPings keep idle connections alive through middleboxes.
	spdyPings = 30 * time.Second
)

var commandProtocols = []string{
	remotecommand.StreamProtocolV4Name,
	remotecommand.StreamProtocolV3Name,
	remotecommand.StreamProtocolV2Name,
	remotecommand.StreamProtocolV1Name,
}

// spdyClient is a command's client over SPDY/3.1: each of its streams is a SPDY stream that the client opens.
type spdyClient struct {
	conn httpstream.Connection
	// streams by their type: stdin, stdout, stderr, error, resize.
	streams map[string]httpstream.Stream
	// status is set where the protocol has a Status on the error stream.
	status bool
}

// spdyCommand upgrades the connection and bridges it.
func (s *Service) spdyCommand(w http.ResponseWriter, r *http.Request, c *conversation, o commandOptions) error {
	protocol, err := httpstream.Handshake(r, w, commandProtocols)
	if err != nil {
		return err // Handshake has answered
	}
	want := map[string]bool{corev1.StreamTypeError: true}
	for name, used := range map[string]bool{
		corev1.StreamTypeStdin:  o.stdin,
		corev1.StreamTypeStdout: o.stdout,
		corev1.StreamTypeStderr: o.stderr,
		corev1.StreamTypeResize: o.tty && (protocol == remotecommand.StreamProtocolV4Name || protocol == remotecommand.StreamProtocolV3Name),
	} {
		if used {
			want[name] = true
		}
	}
	opened := make(chan openedStream)
	conn := spdy.NewResponseUpgraderWithPings(spdyPings).UpgradeResponse(w, r, func(st httpstream.Stream, replySent <-chan struct{}) error {
		select {
		case opened <- openedStream{st, replySent}:
			return nil
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	})
	if conn == nil {
		return errors.New("the connection could not be taken over") // UpgradeResponse has answered
	}
	client := &spdyClient{conn: conn, status: protocol == remotecommand.StreamProtocolV4Name}
	if client.streams, err = s.awaitStreams(c.ctx, conn, opened, want); err != nil {
		c.cancel()
		return errors.Join(err, conn.Close())
	}
	bridgeCommand(c, client)
	return nil
}

type openedStream struct {
	httpstream.Stream
	replySent <-chan struct{}
}

// awaitStreams collects the streams that the client opens until all of want are there and acknowledged.
func (s *Service) awaitStreams(ctx context.Context, conn httpstream.Connection, opened <-chan openedStream, want map[string]bool) (map[string]httpstream.Stream, error) {
	timer := s.clock.NewTimer(streamTimeout)
	defer timer.Stop()
	got := map[string]httpstream.Stream{}
	for len(got) < len(want) {
		select {
		case st := <-opened:
			name := st.Headers().Get(corev1.StreamType)
			if !want[name] || got[name] != nil {
				return nil, fmt.Errorf("the client opened an unexpected stream %q", name)
			}
			select {
			case <-st.replySent:
			case <-conn.CloseChan():
				return nil, errors.New("the client left while opening its streams")
			}
			got[name] = st.Stream
		case <-timer.C():
			return nil, errors.New("timed out waiting for the client to open its streams")
		case <-conn.CloseChan():
			return nil, errors.New("the client left while opening its streams")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return got, nil
}

func (p *spdyClient) run(c *conversation) {
	var wg sync.WaitGroup
	if stdin := p.streams[corev1.StreamTypeStdin]; stdin != nil {
		// An error means that the conversation is over, which bridgeCommand sees itself.
		wg.Go(func() { _ = c.pump(channelStdin, stdin) })
	}
	if resize := p.streams[corev1.StreamTypeResize]; resize != nil {
		wg.Go(func() {
			sizes := json.NewDecoder(resize)
			for {
				var size terminalSize
				if sizes.Decode(&size) != nil || c.send(size.frame()) != nil {
					return
				}
			}
		})
	}
	select {
	case <-p.conn.CloseChan():
	case <-c.ctx.Done():
		p.close()
	}
	c.cancel()
	wg.Wait()
}

func (p *spdyClient) output(channel uint32) httpstream.Stream {
	switch channel {
	case channelStdout:
		return p.streams[corev1.StreamTypeStdout]
	case channelStderr:
		return p.streams[corev1.StreamTypeStderr]
	}
	return nil
}

func (p *spdyClient) write(channel uint32, data []byte) error {
	st := p.output(channel)
	if st == nil {
		return nil // the client did not ask for it
	}
	_, err := st.Write(data)
	return err
}

func (p *spdyClient) closeWrite(channel uint32) {
	if st := p.output(channel); st != nil {
		// Closing twice, or after the client left, changes nothing.
		_ = st.Close()
	}
}

func (p *spdyClient) finish(end *nodev1.End) {
	p.closeWrite(channelStdout)
	p.closeWrite(channelStderr)
	st := p.streams[corev1.StreamTypeError]
	if message := endMessage(end, p.status); len(message) > 0 {
		// A client that left does not learn how the command ended.
		_, _ = st.Write(message)
	}
	_ = st.Close()
}

func (p *spdyClient) close() {
	// The connection's end is all that matters; it may have ended already.
	_ = p.conn.Close()
}
