package etcdtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store"
)

// listed is a member as etcdctl shows it in JSON.
type listed struct {
	ID         uint64
	Name       string   `json:"name"`
	PeerURLs   []string `json:"peerURLs"`
	ClientURLs []string `json:"clientURLs"`
	IsLearner  bool     `json:"isLearner"`
}

func (e etcdctl) members() map[string]listed {
	e.t.Helper()
	var out struct{ Members []listed }
	ok(e.t, json.Unmarshal([]byte(e.run("member", "list", "-w", "json")), &out))
	byName := map[string]listed{}
	for _, m := range out.Members {
		byName[m.Name] = m
	}
	return byName
}

// TestEtcdctlCluster looks at three members, moves the leader, and adds, promotes and removes a fourth.
func TestEtcdctlCluster(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	all, follower := c.etcdctl(t), c.etcdctl(t, c.members[1])
	all.run("put", "/a", "1")
	ms := follower.members()
	equal(t, "members", len(ms), 3)

	// Every member has its own number, the same everywhere, and all of them name one leader.
	var status []struct {
		Endpoint string
		Status   struct {
			Header struct {
				MemberID uint64 `json:"member_id"`
			} `json:"header"`
			Leader uint64 `json:"leader"`
		}
	}
	ok(t, json.Unmarshal([]byte(follower.run("endpoint", "status", "--cluster", "-w", "json")), &status))
	equal(t, "endpoints", len(status), 3)
	leader := ms[c.members[0].Node().Name()]
	for _, s := range status {
		equal(t, "leader as seen by "+s.Endpoint, s.Status.Leader, leader.ID)
		found := false
		for _, m := range ms {
			found = found || (m.ID == s.Status.Header.MemberID && m.ClientURLs[0] == s.Endpoint)
		}
		equal(t, s.Endpoint+" is in the list of members", found, true)
	}
	if table := all.run("member", "list", "-w", "table"); !strings.Contains(table, "IS LEARNER") {
		t.Fatal(table)
	}

	// All hold the same.
	var hashes []struct{ HashKV struct{ Hash uint32 } }
	rev := all.revision()
	ok(t, json.Unmarshal([]byte(follower.run("endpoint", "hashkv", "--cluster", "--rev", fmt.Sprint(rev), "-w", "json")), &hashes))
	equal(t, "hashes", len(hashes), 3)
	for _, h := range hashes {
		if h.HashKV.Hash == 0 || h.HashKV.Hash != hashes[0].HashKV.Hash {
			t.Fatalf("hashes %v", hashes)
		}
	}

	target := ms[c.members[1].Node().Name()]
	if out := all.run("move-leader", fmt.Sprintf("%x", target.ID)); !strings.Contains(out, "Leadership transferred") {
		t.Fatal(out)
	}
	equal(t, "the new leader leads", c.members[1].Node().IsLeader(), true)
	all.fails("bad leader transferee", "move-leader", "1234")

	// A fourth member waits to be added and says its name itself.
	addr := freeAddr(t)
	url := "https://" + addr
	all.fails("no store member answers at "+addr, "member", "add", "four", "--learner", "--peer-urls", url)
	all.fails("members join as learners", "member", "add", "four", "--peer-urls", url)
	four := start(t, c.certs, store.Config{Name: "four", RaftAddr: addr, Join: true})
	if out := follower.run("member", "add", "four", "--learner", "--peer-urls", url); !strings.Contains(out, "added to cluster") {
		t.Fatal(out)
	}
	four.waitReady()
	all.fails("Peer URLs already exists", "member", "add", "four", "--learner", "--peer-urls", url)
	id := fmt.Sprintf("%x", all.members()["four"].ID)
	equal(t, "it is a learner", all.members()["four"].IsLearner, true)
	c.etcdctl(t, four).prints("/a\n1", "get", "/a")
	follower.run("member", "promote", id)
	equal(t, "it is a learner", all.members()["four"].IsLearner, false)
	all.fails("can only promote a learner member", "member", "promote", id)
	all.run("member", "remove", id)
	equal(t, "members", len(all.members()), 3)
	all.fails("member not found", "member", "remove", id)
	four.stopped = true
	four.cancel()
	<-four.done // it may have found out by itself that it was removed
	all.fails("announces its addresses itself", "member", "update", fmt.Sprintf("%x", leader.ID), "--peer-urls", url)
}
