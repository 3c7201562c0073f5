package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/orrery-io/orrery/services/store/client"
)

// process is one that is, or was, a store member.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr lockedBuffer
	gone   chan struct{} // closed when it has ended
	addr   string
	since  int // length of stderr when the member was opened last
}

// errGone means that the process ended instead of an answer.
var errGone = errors.New("the member's process ended")

// spawn starts a process that has no store open yet.
func spawn(t testing.TB) *process {
	t.Helper()
	p := &process{cmd: exec.Command("/proc/self/exe"), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asMember+"=1", "GOTRACEBACK=single")
	p.cmd.Stderr = &p.stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe() // not StdoutPipe, which Wait closes before all is read
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = w
	p.out = bufio.NewScanner(r)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		_ = p.cmd.Wait()
		close(p.gone)
	}()
	t.Cleanup(func() { p.kill(); r.Close() })
	return p
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends it without a warning and waits until it has ended.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.gone
}

// order sends an order and waits for the answer.
func (p *process) order(o order) (answer, error) {
	var a answer
	data, err := json.Marshal(o)
	if err != nil {
		return a, err
	}
	if _, err := p.in.Write(append(data, '\n')); err != nil {
		<-p.gone
		return a, errGone
	}
	if !p.out.Scan() {
		<-p.gone
		return a, errGone
	}
	if err := json.Unmarshal(p.out.Bytes(), &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// open opens the member and waits until it is ready.
func (p *process) open(cfg memberConfig) error {
	p.since = len(p.stderr.String())
	a, err := p.order(order{Open: &cfg})
	p.addr = a.Address
	return err
}

func (p *process) close() error {
	_, err := p.order(order{Close: true})
	return err
}

func (p *process) dial() (*client.Client, error) {
	return client.New(client.Config{Endpoints: []string{p.addr}, Timeout: opening})
}

// said is the end of what it logged since it was opened.
func (p *process) said() string {
	s := p.stderr.String()[p.since:]
	if len(s) > 6000 {
		s = "..." + s[len(s)-6000:]
	}
	return fmt.Sprintf("it logged:\n%s", s)
}

// lockedBuffer is a buffer that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
