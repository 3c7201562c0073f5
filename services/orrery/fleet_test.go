package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

// asProgram makes this test binary the program itself.
const asProgram = "ORRERY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// program is a command of the program under test: this binary, or the one that ORRERY_BIN names.
func program(ctx context.Context, args ...string) *exec.Cmd {
	name := os.Getenv("ORRERY_BIN")
	if name == "" {
		name = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", endpointsVariable+"=")
	return cmd
}

// fleet is a store of several processes, with the certificates of `orrery pki init`.
type fleet struct {
	t       *testing.T
	dir     string
	members map[string]*process
}

// process is one member.
type process struct {
	fleet                   *fleet
	name, dir, client, raft string
	cmd                     *exec.Cmd
	serves, ended           chan struct{}
	mu                      sync.Mutex
	log                     bytes.Buffer
}

func newFleet(t *testing.T) *fleet {
	f := &fleet{t: t, dir: t.TempDir(), members: map[string]*process{}}
	f.ok("pki", "init", "--dir", f.pki(), "--node", "n1")
	return f
}

func (f *fleet) pki() string { return filepath.Join(f.dir, "pki") }

// member reserves addresses and a folder for a member.
func (f *fleet) member(name string) *process {
	p := &process{fleet: f, name: name, dir: filepath.Join(f.dir, name), client: freeAddress(f.t), raft: freeAddress(f.t)}
	f.members[name] = p
	return p
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := listenAt("", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs a member with further flags.
func (p *process) start(args ...string) *process {
	return p.run(append([]string{"store", "--name", p.name, "--listen", p.client, "--raft-listen", p.raft, "--pki-dir", p.fleet.pki()}, args...)...)
}

func (p *process) run(args ...string) *process {
	t := p.fleet.t
	t.Helper()
	p.cmd = program(context.Background(), append(args, "--data-dir", p.dir)...)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.serves, p.ended = make(chan struct{}), make(chan struct{})
	go p.follow(p.cmd, out, p.serves, p.ended)
	t.Cleanup(p.kill)
	return p
}

func (p *process) follow(cmd *exec.Cmd, out io.Reader, serves, ended chan struct{}) {
	var once sync.Once
	for s := bufio.NewScanner(out); s.Scan(); {
		p.mu.Lock()
		fmt.Fprintln(&p.log, s.Text())
		p.mu.Unlock()
		if strings.Contains(s.Text(), "the store serves") {
			once.Do(func() { close(serves) })
		}
	}
	_ = cmd.Wait()
	close(ended)
}

// ready waits until the member serves.
func (p *process) ready() *process {
	p.fleet.t.Helper()
	select {
	case <-p.serves:
	case <-p.ended:
		p.fleet.t.Fatalf("%s ended:\n%s", p.name, p.logged())
	case <-time.After(time.Minute):
		p.fleet.t.Fatalf("%s is not ready:\n%s", p.name, p.logged())
	}
	return p
}

func (p *process) logged() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// kill ends the member without a warning.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// initial are the flags that start the members named as a new cluster.
func (f *fleet) initial(names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, n+"="+f.members[n].raft)
	}
	return "--initial-member=" + strings.Join(out, ",")
}

// three starts a cluster of three and waits for it.
func (f *fleet) three() {
	for _, n := range []string{"a", "b", "c"} {
		f.member(n)
	}
	flags := f.initial("a", "b", "c")
	for _, p := range f.members {
		p.start(flags)
	}
	for _, p := range f.members {
		p.ready()
	}
	for n := 0; n < 3; { // until each has told the others where clients reach it
		n = 0
		for _, m := range f.list("a") {
			if m.ClientAddress != "" {
				n++
			}
		}
	}
}

// exec runs a command of an operator and returns what it printed.
func (f *fleet) exec(args ...string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := program(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// ok runs a command that must succeed.
func (f *fleet) ok(args ...string) string {
	f.t.Helper()
	out, errs, err := f.exec(args...)
	if err != nil {
		f.t.Fatalf("orrery %s: %v\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	return out
}

// fails runs a command that must fail with exit code 1 and each of the texts in its error.
func (f *fleet) fails(texts []string, args ...string) (stdout string) {
	f.t.Helper()
	out, errs, err := f.exec(args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		f.t.Fatalf("orrery %s: %v, want exit code 1\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	for _, text := range texts {
		if !strings.Contains(errs, text) {
			f.t.Errorf("orrery %s: the error\n  %swants %q in it", strings.Join(args, " "), errs, text)
		}
	}
	return out
}

// at adds the flags that lead an operator to members.
func (f *fleet) at(names []string, args ...string) []string {
	var addresses []string
	for _, n := range names {
		addresses = append(addresses, f.members[n].client)
	}
	return append(args, "--endpoints", strings.Join(addresses, ","), "--pki-dir", f.pki())
}

// listed is the part of `members list -o json` that tests look at.
type listed struct {
	Name    string
	Role    string
	Leader  bool
	Healthy bool
	Problem string
	// ClientAddress is empty until the member has told it.
	ClientAddress string
	Status        *struct {
		Revision, Keys int64
		Term           uint64
	}
}

func (f *fleet) list(through ...string) map[string]listed {
	f.t.Helper()
	var v struct{ Members []listed }
	if err := json.Unmarshal([]byte(f.ok(f.at(through, "members", "list", "-o", "json")...)), &v); err != nil {
		f.t.Fatal(err)
	}
	out := map[string]listed{}
	for _, m := range v.Members {
		out[m.Name] = m
	}
	return out
}

// client is a client of the store with the api's identity.
func (f *fleet) client(names ...string) *client.Client {
	f.t.Helper()
	var addresses []string
	for _, n := range names {
		addresses = append(addresses, f.members[n].client)
	}
	tls, err := pki.Open(f.pki()).ClientTLS(pki.API, "localhost")
	if err != nil {
		f.t.Fatal(err)
	}
	c, err := client.New(client.Config{Endpoints: addresses, TLS: tls})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { c.Close() })
	return c
}

func (f *fleet) put(c kv.KV, key, value string) int64 {
	f.t.Helper()
	resp, err := c.Txn(f.t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key), Value: []byte(value)}}}})
	if err != nil {
		f.t.Fatal(err)
	}
	return resp.Revision
}

// refused connects to an address and reports how the other side ends it.
func refused(t *testing.T, address string, dial func(net.Conn) error) error {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return dial(conn)
}
