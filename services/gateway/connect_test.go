package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/internal/pki"
)

func reply(s apiv1.ConnectService_ConnectServer, f *nodev1.Frame) error {
	return s.Send(&apiv1.ConnectResponse{Frame: f})
}

func dataFrame(channel uint32, data []byte) *nodev1.Frame {
	return &nodev1.Frame{Kind: &nodev1.Frame_Data{Data: &nodev1.Data{Channel: channel, Data: data}}}
}

func endFrame(e *nodev1.End) *nodev1.Frame { return &nodev1.Frame{Kind: &nodev1.Frame_End{End: e}} }

// shell plays a container: it echoes stdin to stdout, tells sizes, and at the end of stdin exits with the code that its
// command names.
func shell(open *apiv1.ConnectOpen, s apiv1.ConnectService_ConnectServer) error {
	if open.Name == "missing" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, open.Name)
	}
	query, err := url.ParseQuery(open.Query)
	if err != nil {
		return err
	}
	end := func() error {
		if err := reply(s, dataFrame(channelStderr, []byte("bye"))); err != nil {
			return err
		}
		code, err := strconv.Atoi(query.Get("command"))
		if err != nil {
			return reply(s, endFrame(&nodev1.End{Reason: "BadRequest", Message: "container x is not valid for pod web"}))
		}
		e := &nodev1.End{ExitCode: int32(code)}
		if code != 0 {
			e.Reason = "NonZeroExitCode"
		}
		return reply(s, endFrame(e))
	}
	if err := reply(s, nil); err != nil {
		return err
	}
	if query.Get("stdin") == "" {
		if err := reply(s, dataFrame(channelStdout, []byte("out"))); err != nil {
			return err
		}
		return end()
	}
	for {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		f := m.GetFrame()
		switch {
		case f.GetData() != nil:
			if n := len(f.GetData().GetData()); n > maxData {
				return fmt.Errorf("a frame of %d bytes", n)
			}
			err = reply(s, dataFrame(channelStdout, f.GetData().GetData()))
		case f.GetResize() != nil:
			err = reply(s, dataFrame(channelStdout, fmt.Appendf(nil, "[%dx%d]", f.GetResize().GetWidth(), f.GetResize().GetHeight())))
		case f.GetClose() != nil:
			return end()
		}
		if err != nil {
			return err
		}
	}
}

// executors are client-go's two ways to run a command.
func executors(t *testing.T, w *world, path string) map[string]remotecommand.Executor {
	t.Helper()
	u, err := url.Parse(w.url + path)
	must(t, err)
	spdy, err := remotecommand.NewSPDYExecutor(w.restConfig(), "POST", u)
	must(t, err)
	ws, err := remotecommand.NewWebSocketExecutor(w.restConfig(), "GET", u.String())
	must(t, err)
	return map[string]remotecommand.Executor{"spdy": spdy, "websocket": ws}
}

const execPath = "/api/v1/namespaces/default/pods/web/exec?"

func TestExec(t *testing.T) {
	w := newWorld(t, nil)
	w.api.connect = shell
	big := make([]byte, 3<<20)
	for i := range big {
		big[i] = byte(rand.Uint32())
	}
	for _, tc := range []struct {
		name, query string
		stdin       []byte
		code        int
	}{
		{"output alone", "command=0&stdout=true&stderr=true", nil, 0},
		{"exit code", "command=7&stdin=true&stdout=true&stderr=true", []byte("hello"), 7},
		{"large", "command=0&stdin=true&stdout=true&stderr=true", big, 0},
		{"empty stdin", "command=0&stdin=true&stdout=true&stderr=true", []byte{}, 0},
	} {
		for kind, e := range executors(t, w, execPath+tc.query) {
			t.Run(tc.name+"/"+kind, func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				o := remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr}
				want := []byte("out")
				if tc.stdin != nil {
					o.Stdin, want = bytes.NewReader(tc.stdin), tc.stdin
				}
				err := e.StreamWithContext(t.Context(), o)
				var exit utilexec.CodeExitError
				if tc.code == 0 && err != nil || tc.code != 0 && (!errors.As(err, &exit) || exit.Code != tc.code) {
					t.Errorf("ended with %v", err)
				}
				if !bytes.Equal(stdout.Bytes(), want) || stderr.String() != "bye" {
					t.Errorf("stdout has %d bytes, want %d; stderr %q", stdout.Len(), len(want), stderr.String())
				}
			})
		}
	}
	for kind, e := range executors(t, w, execPath+"command=x&stdout=true") {
		err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
		if err == nil || !strings.Contains(err.Error(), "container x is not valid for pod web") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for kind, e := range executors(t, w, "/api/v1/namespaces/default/pods/missing/attach?stdout=true") {
		err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: io.Discard})
		if err == nil || !strings.Contains(err.Error(), `pods "missing" not found`) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

type sizes chan remotecommand.TerminalSize

func (s sizes) Next() *remotecommand.TerminalSize {
	v, ok := <-s
	if !ok {
		return nil
	}
	return &v
}

// writerFunc lets a test react to output.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestExecTerminal(t *testing.T) {
	w := newWorld(t, nil)
	w.api.connect = shell
	for kind, e := range executors(t, w, execPath+"command=0&stdin=true&stdout=true&stderr=true&tty=true") {
		t.Run(kind, func(t *testing.T) {
			size := make(sizes, 1)
			size <- remotecommand.TerminalSize{Width: 80, Height: 25}
			defer close(size)
			stdin, type_ := io.Pipe()
			var got bytes.Buffer
			out := writerFunc(func(p []byte) (int, error) {
				got.Write(p)
				if got.String() == "[80x25]" {
					size <- remotecommand.TerminalSize{Width: 100, Height: 40}
				}
				if got.String() == "[80x25][100x40]" {
					must(t, type_.Close())
				}
				return len(p), nil
			})
			must(t, e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: stdin, Stdout: out, Tty: true, TerminalSizeQueue: size}))
			if got.String() != "[80x25][100x40]" {
				t.Errorf("%q", got.String())
			}
		})
	}
}

func TestExecEndsWithItsClientAndWithTheGateway(t *testing.T) {
	w := newWorld(t, nil)
	started, over := make(chan struct{}), make(chan struct{})
	w.api.connect = func(_ *apiv1.ConnectOpen, s apiv1.ConnectService_ConnectServer) error {
		if err := reply(s, nil); err != nil {
			return err
		}
		started <- struct{}{}
		<-s.Context().Done()
		over <- struct{}{}
		return s.Context().Err()
	}
	const query = execPath + "command=0&stdin=true&stdout=true"
	for kind, e := range executors(t, w, query) {
		ctx, cancel := context.WithCancel(t.Context())
		stdin, _ := io.Pipe()
		result := make(chan error, 1)
		go func() {
			result <- e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: io.Discard})
		}()
		<-started
		cancel()
		<-over // the node was told
		if err := <-result; err == nil {
			t.Errorf("%s: no error after cancel", kind)
		}
	}
	for kind, e := range executors(t, w, query) {
		if kind != "spdy" {
			continue
		}
		stdin, _ := io.Pipe()
		result := make(chan error, 1)
		go func() {
			result <- e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: stdin, Stdout: io.Discard})
		}()
		<-started
		go w.stopGateway()
		<-over
		if err := <-result; err == nil {
			t.Errorf("%s: no error after the gateway stopped", kind)
		}
	}
}

// dial opens a websocket as clients without client-go do.
func (w *world) dial(path string, protocols ...string) (*websocket.Conn, *http.Response, error) {
	w.t.Helper()
	c, err := w.layout.ClientTLS(pki.Admin, "")
	must(w.t, err)
	d := websocket.Dialer{TLSClientConfig: c, Subprotocols: protocols}
	return d.DialContext(w.t.Context(), "wss"+strings.TrimPrefix(w.url, "https")+path, http.Header{"Origin": {"http://elsewhere"}})
}

func TestWebsocketProtocols(t *testing.T) {
	w := newWorld(t, nil)
	w.api.connect = shell
	for _, protocol := range []string{"", "channel.k8s.io", "base64.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"} {
		t.Run(protocol, func(t *testing.T) {
			var wanted []string
			if protocol != "" {
				wanted = []string{"unknown", protocol}
			}
			ws, _, err := w.dial(execPath+"command=7&stdout=1&stderr=1", wanted...)
			must(t, err)
			defer func() { _ = ws.Close() }()
			if ws.Subprotocol() != protocol {
				t.Errorf("negotiated %q", ws.Subprotocol())
			}
			got := map[byte]string{}
			for {
				_, m, err := ws.ReadMessage()
				if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
					break
				}
				must(t, err)
				channel, data := m[0], m[1:]
				if strings.Contains(protocol, "base64") {
					channel -= '0'
					data, err = base64.StdEncoding.DecodeString(string(data))
					must(t, err)
				}
				got[channel] += string(data)
			}
			if got[1] != "out" || got[2] != "bye" {
				t.Errorf("%q", got)
			}
			if !strings.HasPrefix(protocol, "v4") {
				if got[3] != "command terminated with non-zero exit code: exit status 7" {
					t.Errorf("%q", got[3])
				}
				return
			}
			var s metav1.Status
			must(t, json.Unmarshal([]byte(got[3]), &s))
			if s.Status != "Failure" || s.Reason != "NonZeroExitCode" || s.Details.Causes[0].Type != "ExitCode" || s.Details.Causes[0].Message != "7" {
				t.Errorf("%s", got[3])
			}
		})
	}
	_, resp, err := w.dial(execPath+"command=0&stdout=1", "v9.channel.k8s.io")
	if err == nil || resp.StatusCode != 400 {
		t.Errorf("an unknown protocol: %v", err)
	}
	_, resp, err = w.dial(execPath + "command=0")
	if err == nil || resp.StatusCode != 400 {
		t.Errorf("no stream asked for: %v", err)
	}
}

func TestEndStatus(t *testing.T) {
	for want, end := range map[string]*nodev1.End{
		`{"metadata":{},"status":"Success"}`: {},
		`{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: boom","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`:          {ExitCode: 3, Message: "boom", Reason: "NonZeroExitCode"},
		`{"metadata":{},"status":"Failure","message":"Internal error occurred: broken","reason":"InternalError","details":{"causes":[{"message":"broken"}]},"code":500}`:                                 {Message: "broken"},
		`{"metadata":{},"status":"Failure","message":"container not found (\"x\")","reason":"NotFound","code":404}`:                                                                                      {Message: `container not found ("x")`, Reason: "NotFound"},
		`{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 1","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"1"}]}}`: {ExitCode: 1},
	} {
		if got := string(endMessage(end, true)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestManyExecsAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.api.connect = shell
	var wg sync.WaitGroup
	for i := range 20 {
		for kind, e := range executors(t, w, execPath+"command=0&stdin=1&stdout=1") {
			wg.Go(func() {
				in := bytes.Repeat(fmt.Appendf(nil, "%s %d ", kind, i), 10000)
				var out bytes.Buffer
				if err := e.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: bytes.NewReader(in), Stdout: &out}); err != nil || !bytes.Equal(in, out.Bytes()) {
					t.Errorf("%s %d: %d bytes of %d, %v", kind, i, out.Len(), len(in), err)
				}
			})
		}
	}
	wg.Wait()
}
