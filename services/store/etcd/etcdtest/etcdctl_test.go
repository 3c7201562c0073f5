package etcdtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/backup"
)

// TestEtcdctl goes through the commands of etcdctl against one member.
func TestEtcdctl(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for name, fn := range map[string]func(*testing.T, etcdctl){
		"PutGetDelete": ctlPutGetDelete, "Txn": ctlTxn, "Watch": ctlWatch, "Lease": ctlLease, "Compaction": ctlCompaction,
		"Maintenance": ctlMaintenance, "LockAndElect": ctlLockAndElect, "NoAuth": ctlNoAuth,
	} {
		t.Run(name, func(t *testing.T) { fn(t, c.etcdctl(t)) })
	}
}

func ctlPutGetDelete(t *testing.T, e etcdctl) {
	e.prints("OK", "put", "/a/1", "one")
	rev := e.revision()
	e.same("put from stdin", e.feed("two", "put", "/a/2"), "OK")
	e.prints("OK\n/a/1\none", "put", "--prev-kv", "/a/1", "uno")
	e.prints("OK", "put", "/a/3", "a third")
	e.prints("OK", "put", "--ignore-lease", "/a/3", "three")
	e.fails("key not found", "put", "--ignore-value", "/a/none")

	e.prints("/a/1\nuno", "get", "/a/1")
	e.prints("/a/1\none", "get", "/a/1", "--rev", fmt.Sprint(rev))
	e.prints("/a/1\n\n/a/2\n\n/a/3", "get", "--prefix", "--keys-only", "/a/")
	e.prints("/a/1\nuno\n/a/2\ntwo", "get", "/a/1", "/a/3")
	e.prints("/a/3\nthree\n/a/2\ntwo", "get", "--prefix", "/a/", "--sort-by", "CREATE", "--order", "DESCEND", "--limit", "2")
	e.prints("/a/3\nthree\n/a/2\ntwo\n/a/1\nuno", "get", "--prefix", "/a/", "--sort-by", "VALUE")
	e.prints("three", "get", "--prefix", "/a/", "--sort-by", "MODIFY", "--order", "DESCEND", "--limit", "1", "--print-value-only")
	e.prints("/a/1", "get", "--prefix", "/a/", "--sort-by", "VALUE", "--order", "DESCEND", "--limit", "1", "--keys-only")
	e.prints("/a/3\nthree", "get", "--from-key", "/a/3", "--limit", "1")
	if out := e.run("get", "--prefix", "/a/", "--limit", "1", "-w", "fields"); !strings.Contains(out, "\"More\" : true\n\"Count\" : 3\n") {
		t.Fatalf("a page printed %q", out)
	}
	e.prints("1\n/a/3\nthree", "del", "--prev-kv", "/a/3")
	e.prints("2\n/a/1\nuno\n/a/2\ntwo", "del", "--prefix", "--prev-kv", "/a/")
	e.prints("0", "del", "/a/1")
}

func ctlTxn(t *testing.T, e etcdctl) {
	e.run("put", "/t/k", "x")
	out := e.feed("value(\"/t/k\") = \"x\"\nmod(\"/t/none\") = \"0\"\n\nput /t/k y\nget /t/k\nput /t/other z\n\nput /t/k failed\n\n", "txn")
	e.same("txn", out, "SUCCESS\n\nOK\n\n/t/k\ny\n\nOK")
	out = e.feed("create(\"/t/k\") = \"0\"\n\nput /t/k created\n\ndel /t/ --prefix\nget /t/k\n\n", "txn")
	e.same("txn", out, "FAILURE\n\n2\n")
	out = e.feed("value(\"/t/none\") != \"x\"\n\nput /t/none there\n\nget /t/none\n\n", "txn")
	e.same("a comparison with the value of a missing key", out, "FAILURE")
	if _, errs, err := e.try("\nput /t/k 1\nput /t/k 2\n\n\n", "txn"); err == nil || !strings.Contains(errs, "duplicate key") {
		t.Fatalf("a key put twice: %v %s", err, errs)
	}
}

func ctlWatch(t *testing.T, e etcdctl) {
	e.run("put", "/w/a", "1")
	first := e.revision()
	e.run("put", "/w/b", "2")
	e.run("del", "/w/a")
	old := e.start("watch", "--rev", fmt.Sprint(first), "--prefix", "/w/")
	old.expect("PUT", "/w/a", "1", "PUT", "/w/b", "2", "DELETE", "/w/a", "")
	prev := e.start("watch", "--prefix", "--prev-kv", "--rev", fmt.Sprint(first+1), "/w/")
	prev.expect("PUT", "/w/b", "2", "DELETE", "/w/a", "1", "/w/a", "")
	e.run("put", "/w/b", "3")
	old.expect("PUT", "/w/b", "3")
	prev.expect("PUT", "/w/b", "2", "/w/b", "3")

	// Several on one stream, typed in.
	several := e.start("watch", "-i")
	fmt.Fprintf(several.stdin, "watch --rev=%d /w/a\nwatch --rev=%d /w/b\n", first+3, first+3)
	several.expect("PUT", "/w/b", "3")
	e.run("put", "/w/a", "4")
	several.expect("PUT", "/w/a", "4")

	// A command for each event.
	e.run("put", "/w/c", "5")
	run := e.start("watch", "/w/c", "--rev", fmt.Sprint(e.revision()), "--", "sh", "-c", "echo $ETCD_WATCH_EVENT_TYPE $ETCD_WATCH_KEY $ETCD_WATCH_VALUE")
	run.expect("PUT", "/w/c", "5", `"PUT" "/w/c" "5"`)
}

func ctlLease(t *testing.T, e etcdctl) {
	m := regexp.MustCompile(`^lease ([0-9a-f]+) granted with TTL\(300s\)\n$`).FindStringSubmatch(e.run("lease", "grant", "300"))
	if m == nil {
		t.Fatal("no lease was granted")
	}
	id := m[1]
	e.prints("OK", "put", "--lease", id, "/l/b", "1")
	e.prints("OK", "put", "--lease", id, "/l/a", "1")
	left := e.run("lease", "timetolive", "--keys", id)
	if !regexp.MustCompile(`^lease ` + id + ` granted with TTL\(300s\), remaining\((300|29\d)s\), attached keys\(\[/l/a /l/b\]\)\n$`).MatchString(left) {
		t.Fatalf("timetolive printed %q", left)
	}
	if out := e.run("lease", "list"); !strings.Contains(out, "\n"+id+"\n") {
		t.Fatalf("lease list printed %q", out)
	}
	e.prints("lease "+id+" keepalived with TTL(300)", "lease", "keep-alive", "--once", id)
	forever := e.start("lease", "keep-alive", id)
	forever.expect("lease " + id + " keepalived with TTL(300)")
	e.prints("lease "+id+" revoked", "lease", "revoke", id)
	e.prints("lease "+id+" already expired", "lease", "timetolive", id)
	e.prints("", "get", "--prefix", "/l/")
	e.fails("requested lease not found", "put", "--lease", id, "/l/a", "1")
	e.fails("requested lease not found", "lease", "revoke", id)
	short := strings.Fields(e.run("lease", "grant", "1"))[1]
	e.run("put", "--lease", short, "/l/short", "1")
	gone := e.start("watch", "/l/short", "--rev", fmt.Sprint(e.revision()))
	gone.expect("PUT", "/l/short", "1", "DELETE", "/l/short")
}

func ctlCompaction(t *testing.T, e etcdctl) {
	e.run("put", "/c/a", "1")
	first := e.revision()
	e.run("put", "/c/a", "2")
	e.run("put", "/c/a", "3")
	e.prints(fmt.Sprintf("compacted revision %d", first+1), "compaction", fmt.Sprint(first+1))
	e.fails("required revision has been compacted", "get", "--rev", fmt.Sprint(first), "/c/a")
	e.fails("required revision has been compacted", "compaction", fmt.Sprint(first+1))
	e.fails("required revision is a future revision", "compaction", "999999999")
	e.fails("required revision is a future revision", "get", "--rev", "999999999", "/c/a")
	e.prints(fmt.Sprintf("compacted revision %d", first+2), "compaction", "--physical", fmt.Sprint(first+2))
	e.prints("/c/a\n3", "get", "/c/a")
	e.fails("watch was canceled (etcdserver: mvcc: required revision has been compacted)", "watch", "--rev", fmt.Sprint(first), "/c/a")
}

func ctlMaintenance(t *testing.T, e etcdctl) {
	e.run("put", "/m/a", strings.Repeat("x", 1000))
	table := e.run("endpoint", "status", "-w", "table")
	for _, part := range []string{"ENDPOINT", "IS LEADER", "3.7.3", "true"} {
		if !strings.Contains(table, part) {
			t.Fatalf("the table of endpoints has no %q:\n%s", part, table)
		}
	}
	var status []struct {
		Status struct {
			Header struct {
				ClusterID uint64 `json:"cluster_id"`
				MemberID  uint64 `json:"member_id"`
				Revision  int64
				RaftTerm  uint64 `json:"raft_term"`
			}
			DBSize int64
			Leader uint64
		}
	}
	ok(t, json.Unmarshal([]byte(e.run("endpoint", "status", "-w", "json")), &status))
	if s := status[0].Status; s.Header.ClusterID == 0 || s.Header.Revision == 0 || s.Header.RaftTerm == 0 || s.DBSize == 0 || s.Leader != s.Header.MemberID {
		t.Fatalf("status %+v", s)
	}
	if out := e.run("endpoint", "health", "--cluster"); !strings.Contains(out, "is healthy") {
		if _, errs, _ := e.try("", "endpoint", "health", "--cluster"); !strings.Contains(errs, "is healthy") {
			t.Fatal(out, errs)
		}
	}
	if out := e.run("endpoint", "hashkv"); !regexp.MustCompile(`, \d+\n$`).MatchString(out) {
		t.Fatalf("hashkv printed %q", out)
	}
	e.prints("", "alarm", "list")
	e.prints("", "alarm", "disarm")
	if out := e.run("defrag"); !strings.Contains(out, "Finished defragmenting etcd member") {
		t.Fatalf("defrag printed %q", out)
	}
	if out := e.run("member", "list"); !regexp.MustCompile(`^[0-9a-f]+, started, m0, https://127.0.0.1:\d+, https://127.0.0.1:\d+, false\n$`).MatchString(out) {
		t.Fatalf("member list printed %q", out)
	}
	file := filepath.Join(t.TempDir(), "backup.db")
	if out := e.run("snapshot", "save", file); !strings.Contains(out, "Snapshot saved at "+file) {
		t.Fatalf("snapshot save printed %q", out)
	}
	// The store reads it back.
	info, err := backup.Inspect(file)
	ok(t, err)
	equal(t, "kind of file", info.Container, backup.ContainerPadded)
	if info.Keys == 0 || info.Revision < status[0].Status.Header.Revision {
		t.Fatalf("the snapshot holds %+v", info)
	}
}

func ctlLockAndElect(t *testing.T, e etcdctl) {
	before := e.revision()
	holder := e.start("lock", "/locks/x")
	key := holder.line()
	if !strings.HasPrefix(key, "/locks/x/") {
		t.Fatalf("the lock is %q", key)
	}
	waiter := e.start("lock", "/locks/x", "--", "sh", "-c", "echo acquired")
	// It has queued up behind the holder.
	queue := e.start("watch", "--prefix", "/locks/x/", "--rev", fmt.Sprint(before+1))
	queue.expect("PUT", key, "")
	queue.expect("PUT")
	ok(t, holder.cmd.Process.Signal(os.Interrupt))
	waiter.expect("acquired")

	leader := e.start("elect", "/elections/y", "me")
	won := leader.line()
	if !strings.HasPrefix(won, "/elections/y/") {
		t.Fatalf("the election's key is %q", won)
	}
	leader.expect("me")
	e.start("elect", "-l", "/elections/y").expect(won, "me")
}

func ctlNoAuth(t *testing.T, e etcdctl) {
	e.fails("unknown service etcdserverpb.Auth", "role", "list")
	e.fails("unknown service etcdserverpb.Auth", "auth", "enable")
}

// revision is the store's newest.
func (e etcdctl) revision() int64 {
	e.t.Helper()
	var out struct{ Header struct{ Revision int64 } }
	ok(e.t, json.Unmarshal([]byte(e.run("get", "/revision", "-w", "json")), &out))
	return out.Header.Revision
}

// TestEtcdctlNoSpace fills a small store, and follows etcd's instructions to make it usable again.
func TestEtcdctlNoSpace(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, func(cfg *store.Config) { cfg.QuotaBytes = 64 << 10 })
	e := c.etcdctl(t)
	value := strings.Repeat("x", 20<<10)
	for i := range 3 {
		e.run("put", "/big", value)
		if i == 2 {
			e.fails("database space exceeded", "put", "/big", value)
		}
	}
	if out := e.run("alarm", "list"); !regexp.MustCompile(`^memberID:\d+ alarm:NOSPACE`).MatchString(out) {
		t.Fatalf("alarm list printed %q", out)
	}
	if out := e.run("endpoint", "status", "-w", "json"); !strings.Contains(out, "NOSPACE") {
		t.Fatalf("the status does not tell of the alarm: %s", out)
	}
	e.prints("/big\n"+value, "get", "/big")
	e.run("compaction", fmt.Sprint(e.revision()))
	if out := e.run("alarm", "disarm"); !strings.Contains(out, "NOSPACE") {
		t.Fatalf("alarm disarm printed %q", out)
	}
	e.prints("", "alarm", "list")
	e.prints("OK", "put", "/big", value)
}
