package procgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestMain plays the helper process when asked to: it reports to a socket and then does as it is told.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCGROUP_HELPER") {
	case "":
		os.Exit(m.Run())
	case "supervisor":
		helperSupervisor()
	default:
		helper()
	}
}

// helper connects to the test, says its pid, ends with the code that it is told, and on SIGTERM says so and ends unless it
// is stubborn.
func helper() {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	c, err := net.Dial("unix", os.Getenv("PROCGROUP_SOCKET"))
	if err != nil {
		os.Exit(99)
	}
	fmt.Println("hello from", os.Args[1])
	say(c, "%s %d\n", os.Args[1], os.Getpid())
	told := make(chan int)
	go func() {
		line, _ := bufio.NewReader(c).ReadString('\n')
		code, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			select {} // the test let go of the connection
		}
		told <- code
	}()
	for {
		select {
		case code := <-told:
			os.Exit(code)
		case <-terms:
			say(c, "term %s\n", os.Args[1])
			if os.Getenv("PROCGROUP_HELPER") != "stubborn" {
				os.Exit(0)
			}
		}
	}
}

func say(c net.Conn, format string, args ...any) {
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		panic(err)
	}
}

// helperSupervisor supervises a helper until it is killed.
func helperSupervisor() {
	s, err := NewSupervisor(os.Getenv("PROCGROUP_DIR"), Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		os.Exit(98)
	}
	if err := s.Start(Process{Name: "grandchild", Command: os.Args[0], Args: []string{"grandchild"}, Env: []string{"PROCGROUP_HELPER=yes"}}); err != nil {
		os.Exit(97)
	}
	select {}
}

// reports is where helpers report.
type reports struct {
	t    *testing.T
	path string
	l    net.Listener
}

type report struct {
	net.Conn
	in   *bufio.Reader
	name string
	pid  int
}

func newReports(t *testing.T) *reports {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return &reports{t, path, l}
}

func (r *reports) next() *report {
	r.t.Helper()
	c, err := r.l.Accept()
	must(r.t, err)
	r.t.Cleanup(func() { _ = c.Close() })
	out := &report{Conn: c, in: bufio.NewReader(c)}
	line, err := out.in.ReadString('\n')
	must(r.t, err)
	_, err = fmt.Sscanf(line, "%s %d", &out.name, &out.pid)
	must(r.t, err)
	return out
}

// line is what the helper says next, "" when it is gone.
func (r *report) line() string {
	line, _ := r.in.ReadString('\n')
	return strings.TrimSpace(line)
}

func (r *reports) process(name, kind string) Process {
	return Process{Name: name, Command: os.Args[0], Args: []string{name}, Env: []string{"PROCGROUP_HELPER=" + kind, "PROCGROUP_SOCKET=" + r.path}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	must(t, err)
	return pid
}

func TestSupervisorRestartsWithBackOff(t *testing.T) {
	dir := t.TempDir()
	clk := clocktesting.NewFakeClock(time.Now())
	s, err := NewSupervisor(dir, Options{Clock: clk, Jitter: func() float64 { return 1 }, FirstDelay: time.Second, MaxDelay: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	r := newReports(t)
	must(t, s.Start(r.process("api", "yes")))
	first := r.next()
	if pid := pidIn(t, filepath.Join(dir, "run", "api.pid")); pid != first.pid {
		t.Errorf("pid file says %d, the process %d", pid, first.pid)
	}
	// Delays grow from 1 s to 3 s, each with half of itself as jitter.
	for _, pause := range []time.Duration{1500 * time.Millisecond, 3 * time.Second, 4500 * time.Millisecond, 4500 * time.Millisecond} {
		say(first, "3\n")
		first.line()
		awaitTimer(clk)
		clk.Step(pause - time.Millisecond)
		if !clk.HasWaiters() {
			t.Fatalf("started again before %v", pause)
		}
		clk.Step(time.Millisecond)
		first = r.next()
	}
	clk.Step(time.Minute) // it lived long: the next death counts as the first
	must(t, syscall.Kill(first.pid, syscall.SIGKILL))
	first.line()
	awaitTimer(clk)
	clk.Step(1500 * time.Millisecond)
	last := r.next()
	must(t, s.Stop())
	if said := last.line(); said != "term api" {
		t.Errorf("at the end it said %q", said)
	}
	if _, err := os.Stat(filepath.Join(dir, "run", "api.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the pid file is still there: %v", err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "logs", "api.log"))
	must(t, err)
	if n := strings.Count(string(log), "hello from api\n"); n != 6 {
		t.Errorf("the log has %d starts: %s", n, log)
	}
}

// awaitTimer returns when somebody waits on the clock.
func awaitTimer(clk *clocktesting.FakeClock) {
	for !clk.HasWaiters() {
		// The supervisor is about to: it has seen its child die.
		runtime.Gosched()
	}
}

func TestSupervisorStopsInReverseAndKillsTheStubborn(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	s, err := NewSupervisor(t.TempDir(), Options{Clock: clk, StopTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	r := newReports(t)
	must(t, s.Start(r.process("store", "yes")))
	store := r.next()
	must(t, s.Start(r.process("api", "stubborn")))
	api := r.next()
	if err := s.Start(r.process("api", "yes")); err == nil {
		t.Error("two processes of one name")
	}
	if err := s.Start(Process{Name: "x", Command: "/does/not/exist"}); err == nil || !strings.Contains(err.Error(), "/does/not/exist") {
		t.Errorf("a missing executable: %v", err)
	}
	result := make(chan error, 1)
	go func() { result <- s.Stop() }()
	if said := api.line(); said != "term api" {
		t.Errorf("%q", said)
	}
	must(t, syscall.Kill(store.pid, 0)) // still alive: it is stopped after what leans on it
	awaitTimer(clk)
	clk.Step(time.Minute)
	if said := api.line(); said != "" {
		t.Errorf("%q", said)
	}
	if said := store.line(); said != "term store" {
		t.Errorf("%q", said)
	}
	if err := <-result; err == nil || !strings.Contains(err.Error(), "api did not end") {
		t.Errorf("Stop: %v", err)
	}
}

func TestChildrenDieWithTheirSupervisor(t *testing.T) {
	r := newReports(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCGROUP_HELPER=supervisor", "PROCGROUP_DIR="+t.TempDir(), "PROCGROUP_SOCKET="+r.path)
	must(t, cmd.Start())
	grandchild := r.next()
	must(t, cmd.Process.Kill())
	if said := grandchild.line(); said != "term grandchild" {
		t.Errorf("%q", said)
	}
	if said := grandchild.line(); said != "" {
		t.Errorf("%q", said)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the supervisor ended in peace")
	}
}

func TestGroup(t *testing.T) {
	var mu sync.Mutex
	var events []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		events = append(events, s)
	}
	service := func(name string) Member {
		ready := make(chan struct{})
		return Member{Name: name, Ready: ready, Run: func(ctx context.Context) error {
			note("start " + name)
			close(ready)
			<-ctx.Done()
			note("stop " + name)
			return ctx.Err()
		}}
	}
	g := &Group{Logger: slog.New(slog.DiscardHandler)}
	must(t, g.Start(t.Context(), service("store")))
	must(t, g.Start(t.Context(), service("api")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, g.Wait(ctx))
	if got := strings.Join(events, ", "); got != "start store, start api, stop api, stop store" {
		t.Error(got)
	}

	for name, run := range map[string]func(context.Context) error{
		"failed: disk full":                      func(context.Context) error { return errors.New("disk full") },
		"ended although nobody stopped it":       func(context.Context) error { return nil },
		"failed: panic: index out of everything": func(context.Context) error { panic("index out of everything") },
	} {
		events = nil
		g := &Group{Logger: slog.New(slog.DiscardHandler)}
		must(t, g.Start(t.Context(), service("store")))
		must(t, g.Start(t.Context(), Member{Name: "api", Run: run}))
		if err := g.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "api "+name) {
			t.Errorf("%s: %v", name, err)
		}
		if events[len(events)-1] != "stop store" {
			t.Errorf("%v", events)
		}
		g = &Group{Logger: slog.New(slog.DiscardHandler)}
		err := g.Start(t.Context(), Member{Name: "api", Run: run, Ready: make(chan struct{})})
		if err == nil || !strings.Contains(err.Error(), "api "+name) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, g.Stop())
	}
}

func TestGroupLeavesBehindWhatDoesNotStop(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Now())
	g := &Group{Clock: clk, StopTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}
	release := make(chan struct{})
	defer close(release)
	must(t, g.Start(t.Context(), Member{Name: "api", Run: func(context.Context) error { <-release; return nil }}))
	result := make(chan error, 1)
	go func() { result <- g.Stop() }()
	awaitTimer(clk)
	clk.Step(time.Minute)
	if err := <-result; err == nil || !strings.Contains(err.Error(), "api did not stop within 1m0s") {
		t.Error(err)
	}
}
