package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// kinds are the two stores.
var kinds = []string{"orrery", "etcd"}

// startLimit is how long a cluster may take to start, endLimit how long a member may take to end.
const (
	startLimit = 60 * time.Second
	endLimit   = 10 * time.Second
)

// cluster is a store's processes.
type cluster struct {
	kind    string
	members []*process
}

// process is one child.
type process struct {
	member
	cmd   *exec.Cmd
	stdin io.Closer
	ready chan struct{} // closed when it said so
	ended chan struct{} // closed when it is gone
}

// startCluster starts n members and waits until all are ready.
func startCluster(ctx context.Context, o *options, kind string, n int, dir string) (_ *cluster, err error) {
	ports, err := freePorts(3 * n)
	if err != nil {
		return nil, err
	}
	c := &cluster{kind: kind}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	var initial []string
	for i := range n {
		initial = append(initial, fmt.Sprintf("%s-%d=%s", kind, i, ports[n+i]))
	}
	for i := range n {
		m := member{
			kind: kind, name: fmt.Sprintf("%s-%d", kind, i), dir: filepath.Join(dir, strconv.Itoa(i)), client: ports[i], peer: ports[n+i],
			initial: strings.Join(initial, ","), logStore: o.logStore,
		}
		if o.profiles != "" {
			m.pprof = ports[2*n+i]
		}
		p, err := start(m)
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, p)
	}
	limit := time.After(startLimit)
	for _, p := range c.members {
		select {
		case <-p.ready:
		case <-p.ended:
			return nil, fmt.Errorf("member %s ended before it was ready", p.name)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-limit:
			return nil, fmt.Errorf("member %s was not ready within %s", p.name, startLimit)
		}
	}
	return c, nil
}

func start(m member) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(m.dir), 0o700); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{member: m, cmd: exec.Command(self, m.args()...), ready: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = in
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() == "ready" {
				close(p.ready)
			}
		}
		p.cmd.Wait() //nolint:errcheck // how it ends does not matter: a failure before "ready" is reported
	}()
	return p, nil
}

// stop ends all members, the hard way when they do not listen.
func (c *cluster) stop() {
	for _, p := range c.members {
		p.stdin.Close()
	}
	limit := time.After(endLimit)
	for _, p := range c.members {
		select {
		case <-p.ended:
		case <-limit:
			p.cmd.Process.Kill() //nolint:errcheck // it may have ended
			<-p.ended
		}
	}
}

func (c *cluster) clients() []string {
	var out []string
	for _, p := range c.members {
		out = append(out, p.client)
	}
	return out
}

// freePorts finds n free loopback addresses.
func freePorts(n int) ([]string, error) {
	var out []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		out = append(out, l.Addr().String())
	}
	return out, nil
}

// resident is the memory that the members' processes hold now, in bytes, on average.
func (c *cluster) resident() (int64, error) {
	var sum int64
	for _, p := range c.members {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
		if err != nil {
			return 0, err
		}
		kb, err := field(string(data), "VmRSS:")
		if err != nil {
			return 0, err
		}
		sum += kb << 10
	}
	return sum / int64(len(c.members)), nil
}

func field(text, name string) (int64, error) {
	_, rest, ok := strings.Cut(text, name)
	if !ok {
		return 0, errors.New("the process status has no " + name)
	}
	return strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
}

// cpu is the processor time that a process has used: user and system, in ticks of 10 ms.
func cpu(pid string) time.Duration {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (c *cluster) cpu() (sum time.Duration) {
	for _, p := range c.members {
		sum += cpu(strconv.Itoa(p.cmd.Process.Pid))
	}
	return sum
}
