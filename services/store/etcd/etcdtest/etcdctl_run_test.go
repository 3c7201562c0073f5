package etcdtest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// etcdctl is the program with the flags that reach a cluster.
type etcdctl struct {
	t    *testing.T
	args []string
}

func (c *cluster) etcdctl(t *testing.T, ms ...*member) etcdctl {
	t.Helper()
	if _, err := exec.LookPath("etcdctl"); err != nil {
		t.Fatal("etcdctl is not installed: run 'make deps' (the package is etcd-client)")
	}
	return etcdctl{t, []string{"--endpoints", strings.Join(c.endpoints(ms...), ","), "--cacert", c.certs.ca(), "--cert", c.certs.cert(), "--key", c.certs.key()}}
}

func (e etcdctl) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "etcdctl", append(append([]string{}, args...), e.args...)...)
	if i := indexOf(args, "--"); i >= 0 { // what follows is another command's
		cmd.Args = append(append(append([]string{"etcdctl"}, args[:i]...), e.args...), args[i:]...)
	}
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	return cmd
}

func indexOf(args []string, what string) int {
	for i, a := range args {
		if a == what {
			return i
		}
	}
	return -1
}

// try runs the program with stdin and returns what it printed to both outputs, and its error.
func (e etcdctl) try(stdin string, args ...string) (out, errs string, err error) {
	cmd := e.command(limited(e.t), args...)
	var o, s bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &s
	err = cmd.Run()
	return o.String(), s.String(), err
}

func (e etcdctl) run(args ...string) string { e.t.Helper(); return e.feed("", args...) }

func (e etcdctl) feed(stdin string, args ...string) string {
	e.t.Helper()
	out, errs, err := e.try(stdin, args...)
	if err != nil {
		e.t.Fatalf("etcdctl %s: %v\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	return out
}

// prints runs the program and compares what it printed, without spaces at the ends.
func (e etcdctl) prints(want string, args ...string) {
	e.t.Helper()
	e.same(strings.Join(args, " "), e.run(args...), want)
}

func (e etcdctl) same(what, got, want string) {
	e.t.Helper()
	if strings.TrimSpace(got) != strings.TrimSpace(want) {
		e.t.Fatalf("etcdctl %s printed\n%s\nwant\n%s", what, got, want)
	}
}

// fails runs the program, which must fail and say why.
func (e etcdctl) fails(why string, args ...string) {
	e.t.Helper()
	out, errs, err := e.try("", args...)
	if err == nil || !strings.Contains(out+errs, why) {
		e.t.Fatalf("etcdctl %s: %v\n%s%s\nwant a failure that says %q", strings.Join(args, " "), err, out, errs, why)
	}
}

// running is the program while it runs.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	errs  *bytes.Buffer
	stop  context.CancelFunc
}

func (e etcdctl) start(args ...string) *running {
	e.t.Helper()
	ctx, stop := context.WithCancel(limited(e.t))
	r := &running{t: e.t, cmd: e.command(ctx, args...), errs: &bytes.Buffer{}, stop: stop}
	out, err := r.cmd.StdoutPipe()
	ok(e.t, err)
	r.stdin, err = r.cmd.StdinPipe()
	ok(e.t, err)
	r.cmd.Stderr = r.errs
	r.lines = bufio.NewScanner(out)
	ok(e.t, r.cmd.Start())
	e.t.Cleanup(r.end)
	return r
}

// line is the next line that the program prints.
func (r *running) line() string {
	r.t.Helper()
	if !r.lines.Scan() {
		r.t.Fatalf("%v ended: %s", r.cmd.Args, r.errs)
	}
	return r.lines.Text()
}

// expect reads lines.
func (r *running) expect(want ...string) {
	r.t.Helper()
	for _, w := range want {
		if got := r.line(); got != w {
			r.t.Fatalf("%v printed %q, want %q", r.cmd.Args, got, w)
		}
	}
}

func (r *running) end() {
	r.stop()
	_ = r.cmd.Wait()
}
