package main

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/orrery-io/orrery/services/internal/pki"
)

// wantTable checks the words of a table: its header, and one row for each prefix given.
func wantTable(t *testing.T, table string, header []string, rows ...[]string) {
	t.Helper()
	lines := strings.Split(table, "\n")
	if got := strings.Fields(lines[0]); strings.Join(got, " ") != strings.Join(header, " ") {
		t.Fatalf("header %q, want %q", got, header)
	}
	for i, want := range rows {
		if i+1 >= len(lines) || !strings.HasPrefix(strings.Join(strings.Fields(lines[i+1]), " "), strings.Join(want, " ")) {
			t.Errorf("row %d of\n%swants %v", i+1, table, want)
		}
	}
}

// TestMembers grows a store of one member to three, loses one, replaces it, and moves the leader, with the commands that
// the commands themselves print.
func TestMembers(t *testing.T) {
	f := newFleet(t)
	a := f.member("a").start().ready()
	wantTable(t, f.ok(f.at([]string{"a"}, "members", "list")...), []string{"NAME", "ROLE", "HEALTH", "LAG", "CLIENT", "ADDRESS", "RAFT", "ADDRESS"},
		[]string{"a", "leader", "healthy", "0", a.client, a.raft})
	c := f.client("a")
	for i := range 20 {
		f.put(c, "/k/"+string(rune('a'+i)), strings.Repeat("x", 1000))
	}

	for _, name := range []string{"b", "c"} {
		p := f.member(name)
		f.join(p, f.ok(f.at([]string{"a"}, "members", "add", name, p.raft, "-o", "json")...))
	}
	ms := f.list("c")
	for _, name := range []string{"a", "b", "c"} {
		if m := ms[name]; !m.Healthy || m.Role != "voter" || m.Status.Keys != 20 {
			t.Errorf("member %s: %+v", name, m)
		}
	}

	// One is lost: it is a row with a reason, whoever is asked, and it is replaced.
	f.members["c"].kill()
	out := f.ok(f.at([]string{"b"}, "members", "status")...)
	wantTable(t, out, strings.Fields("NAME ROLE HEALTH TERM INDEX APPLIED LAG REVISION KEYS DATA QUOTA LOG ALARMS VERSION"))
	if !strings.Contains(out, "c: connection refused: start it") {
		t.Errorf("no reason and next step for c in\n%s", out)
	}
	f.fails([]string{`member "a" answers`, "--force"}, f.at([]string{"b"}, "members", "replace", "a", "d=127.0.0.1:1")...)
	f.fails([]string{`no member "x"`, "a, b, c"}, f.at([]string{"b"}, "members", "replace", "x", "d=127.0.0.1:1")...)
	d := f.member("d")
	f.join(d, f.ok(f.at([]string{"b"}, "members", "replace", "c", "d="+d.raft, "-o", "json")...))

	if out := f.ok(f.at([]string{"a"}, "members", "move-leader", "d")...); out != "member \"d\" leads\n" {
		t.Errorf("move-leader printed %q", out)
	}
	ms = f.list("a", "b")
	if len(ms) != 3 || !ms["d"].Leader || ms["c"].Name != "" {
		t.Errorf("members %+v", ms)
	}
	f.ok(f.at([]string{"a"}, "members", "remove", "a")...)
	select {
	case <-a.ended:
	case <-t.Context().Done():
	}
	if !strings.Contains(a.logged(), "not part of its cluster any more") {
		t.Errorf("the removed member ended with\n%s", a.logged())
	}
	f.put(f.client("b", "d"), "/k/last", "")
}

// join starts a member with the command that add or replace printed, and then gives it its vote with the other one.
func (f *fleet) join(p *process, printed string) {
	f.t.Helper()
	var v struct{ Commands []string }
	if err := json.Unmarshal([]byte(printed), &v); err != nil || len(v.Commands) != 2 {
		f.t.Fatalf("%v in %s", err, printed)
	}
	promote := strings.Fields(v.Commands[1])[1:]
	f.fails([]string{p.name, "does not answer", p.raft}, promote...)
	start := strings.Fields(v.Commands[0])[1:]
	for i, arg := range start {
		if arg == "--listen" {
			p.client = start[i+1]
		}
	}
	p.run(start...).ready()
	f.ok(promote...)
}

func TestMaintenance(t *testing.T) {
	f := newFleet(t)
	f.three()
	c := f.client("a", "b", "c")
	var last int64
	for range 30 {
		last = f.put(c, "/k", strings.Repeat("x", 10_000))
	}
	if out := f.ok(f.at([]string{"b"}, "alarms", "list")...); out != "no alarm is raised\n" {
		t.Errorf("alarms: %q", out)
	}
	f.ok(f.at([]string{"b"}, "alarms", "disarm", "nospace")...)
	f.fails([]string{"NOSPACE or CORRUPT"}, f.at([]string{"b"}, "alarms", "disarm", "smoke")...)
	wantTable(t, f.ok(f.at([]string{"c"}, "members", "defragment")...), []string{"NAME", "LOG", "BEFORE", "LOG", "AFTER"})
	wantTable(t, f.ok(f.at([]string{"c"}, "members", "check")...), []string{"NAME", "HASH", "PROBLEM"}, []string{"a"}, []string{"b"}, []string{"c"})
	f.ok(f.at([]string{"c"}, "compact")...)
	f.fails([]string{"compacted"}, f.at([]string{"a"}, "compact", "2")...)
	f.fails([]string{"compactRevision"}, f.at([]string{"a"}, "get", "/k", "--revision", "2")...)

	// One that hangs is not waited for.
	stopped := f.members["c"].cmd.Process
	if err := stopped.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if m := f.list("a")["c"]; m.Healthy || !strings.Contains(m.Problem, "no answer in time") || !strings.Contains(m.Problem, "paused or overloaded") {
		t.Errorf("the member that hangs is %+v", m)
	}
	f.fails([]string{f.members["c"].client, "no answer in time"}, f.at([]string{"c"}, "alarms", "list")...)
	if err := stopped.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}

	// Wrong certificates, wrong folder, nobody there: each says what to do.
	other := t.TempDir()
	f.ok("pki", "init", "--dir", other)
	f.fails([]string{f.members["a"].client, "--pki-dir"}, "members", "list", "--endpoints", f.members["a"].client, "--pki-dir", other)
	f.fails([]string{"--pki-dir"}, "members", "list", "--endpoints", f.members["a"].client, "--pki-dir", t.TempDir())
	f.fails([]string{"--endpoints"}, "members", "list", "--data-dir", t.TempDir())
	nobody := freeAddress(t)
	f.fails([]string{nobody, "connection refused", "start it"}, "members", "list", "--endpoints", nobody, "--pki-dir", f.pki())
	f.fails([]string{"table, json or yaml"}, f.at([]string{"a"}, "members", "list", "-o", "xml")...)

	if out := f.ok(f.at([]string{"a"}, "get", "--prefix", "--count-only", "/")...); out != "1\n" {
		t.Errorf("count %q", out)
	}
	var got struct {
		Count, Revision int64
		Keys            []entry
	}
	if err := json.Unmarshal([]byte(f.ok(f.at([]string{"a"}, "get", "/k", "-o", "json", "--consistency", "s")...)), &got); err != nil ||
		got.Count != 1 || got.Keys[0].Key != "/k" || got.Keys[0].ModRevision != last || len(got.Keys[0].Text) != 10_000 {
		t.Errorf("%v: %+v", err, got)
	}
	f.fails([]string{"no such key: /none"}, f.at([]string{"a"}, "get", "/none")...)
}

// TestPortsAreClosed: with the certificates that pki init makes, both ports are closed to who has none, to who has one of
// another authority, and each to those that have no business there.
func TestPortsAreClosed(t *testing.T) {
	f := newFleet(t)
	p := f.member("a").start().ready()
	other := t.TempDir()
	f.ok("pki", "init", "--dir", other)
	ours := pki.Open(f.pki())
	pool, err := ours.CAPool()
	if err != nil {
		t.Fatal(err)
	}
	config := func(layout *pki.Layout, name string) *tls.Config {
		c, err := layout.ClientTLS(name, "localhost")
		if err != nil {
			t.Fatal(err)
		}
		c.RootCAs = pool
		return c
	}
	none := &tls.Config{RootCAs: pool, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	talk := func(c *tls.Config) func(net.Conn) error {
		return func(conn net.Conn) error {
			secure := tls.Client(conn, c)
			if _, err := secure.Write([]byte("R00000000 anything that a member would say")); err != nil {
				return err
			}
			_, err := secure.Read(make([]byte, 1))
			return err
		}
	}
	for _, c := range []struct {
		name, address string
		config        *tls.Config
	}{
		{"client port, no certificate", p.client, none},
		{"client port, another authority's", p.client, config(pki.Open(other), pki.Admin)},
		{"raft port, no certificate", p.raft, none},
		{"raft port, another authority's", p.raft, config(pki.Open(other), pki.Store)},
		{"raft port, the api's", p.raft, config(ours, pki.API)},
		{"raft port, the administrator's", p.raft, config(ours, pki.Admin)},
		{"raft port, a node's", p.raft, config(ours, pki.NodeCert("n1"))},
	} {
		if err := refused(t, c.address, talk(c.config)); err == nil {
			t.Errorf("%s: the store talked", c.name)
		} else if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%s: the store kept the connection: %v", c.name, err)
		}
	}
	for _, address := range []string{p.client, p.raft} {
		err := refused(t, address, func(conn net.Conn) error {
			if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
				return err
			}
			// What comes back, if anything, is a TLS alert.
			b := make([]byte, 1)
			if n, _ := conn.Read(b); n == 1 && b[0] != 21 {
				t.Errorf("%s answered in plain text", address)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	// A node is known to the authority, but the store is not for it.
	node := t.TempDir()
	copyPair(t, f.pki(), pki.NodeCert("n1"), node, pki.Admin)
	f.fails([]string{"may not use the store", "--pki-dir"}, "members", "list", "--endpoints", p.client, "--pki-dir", node)
}
