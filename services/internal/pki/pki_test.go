package pki

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clocktesting "k8s.io/utils/clock/testing"
)

func ensure(t *testing.T, dir string, o Options) *Layout {
	t.Helper()
	l, err := Ensure(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func certOf(t *testing.T, l *Layout, name string) *x509.Certificate {
	t.Helper()
	c, _, err := loadPair(l.CertFile(name), l.KeyFile(name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEnsureIsIdempotentAndRenewsWhatNearsItsEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	now := time.Now()
	clk := clocktesting.NewFakePassiveClock(now)
	l := ensure(t, dir, Options{Nodes: []string{"n1"}, Clock: clk})
	if n := len(l.Issued); n != len(Components())+2 {
		t.Fatalf("issued %d certificates: %v", n, l.Issued)
	}
	first := certOf(t, l, Gateway)
	node := certOf(t, l, NodeCert("n1"))
	if node.Subject.CommonName != "system:node:n1" || node.Subject.Organization[0] != "system:nodes" {
		t.Errorf("node's subject is %v", node.Subject)
	}
	for _, name := range []string{"ca", Gateway, Admin} {
		info, err := os.Stat(l.KeyFile(name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s.key has mode %v", name, info.Mode())
		}
	}
	if l = ensure(t, dir, Options{Nodes: []string{"n1"}, Clock: clk}); len(l.Issued) != 0 {
		t.Errorf("second Ensure issued %v", l.Issued)
	}
	clk.SetTime(now.Add(certLifetime - renewBefore + time.Hour))
	l = ensure(t, dir, Options{Nodes: []string{"n1"}, Clock: clk})
	if second := certOf(t, l, Gateway); second.NotAfter.Sub(first.NotAfter) < 300*24*time.Hour {
		t.Errorf("not renewed: ends %v, before %v", second.NotAfter, first.NotAfter)
	}
	// The authority is renewed with its key: what it had signed still verifies.
	old := certOf(t, l, Gateway)
	clk.SetTime(now.Add(caLifetime - renewBefore + time.Hour))
	l = ensure(t, dir, Options{Clock: clk})
	if err := old.CheckSignatureFrom(certOf(t, l, "ca")); err != nil {
		t.Errorf("renewed authority does not vouch for its old certificates: %v", err)
	}
}

func TestEnsureAddsNamesAndKeepsThose(t *testing.T) {
	dir := t.TempDir()
	ensure(t, dir, Options{Hosts: []string{"a.example"}, IPs: []net.IP{net.IPv4(192, 0, 2, 1)}})
	l := ensure(t, dir, Options{Hosts: []string{"b.example"}})
	if len(l.Issued) != 3 { // store, api, gateway
		t.Errorf("issued %v", l.Issued)
	}
	c := certOf(t, l, API)
	for _, h := range []string{"a.example", "b.example", "localhost", "127.0.0.1", "192.0.2.1", "kubernetes.default.svc"} {
		if err := c.VerifyHostname(h); err != nil {
			t.Error(err)
		}
	}
	if l = ensure(t, dir, Options{Hosts: []string{"a.example"}}); len(l.Issued) != 0 {
		t.Errorf("first caller's names were lost: %v", l.Issued)
	}
}

func TestEnsureConcurrently(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	issued := make([]int, 8)
	for i := range issued {
		wg.Go(func() {
			l, err := Ensure(dir, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			issued[i] = len(l.Issued)
		})
	}
	wg.Wait()
	total := 0
	for _, n := range issued {
		total += n
	}
	if want := len(Components()) + 1; total != want {
		t.Errorf("issued %d certificates in all, want %d", total, want)
	}
}

func TestEnsureRepairsAndRefuses(t *testing.T) {
	dir := t.TempDir()
	l := ensure(t, dir, Options{})
	// A renewal interrupted between key and certificate.
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	data, err := encodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.KeyFile(Admin), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if l = ensure(t, dir, Options{}); len(l.Issued) != 1 {
		t.Errorf("issued %v", l.Issued)
	}
	if err := os.Remove(l.KeyFile("ca")); err != nil {
		t.Fatal(err)
	}
	if _, err = Ensure(dir, Options{}); err == nil || !strings.Contains(err.Error(), "put the key back") {
		t.Errorf("a lost authority key: %v", err)
	}
	if _, err = Ensure(t.TempDir(), Options{Nodes: []string{"../x"}}); err == nil {
		t.Error("a node name with a path was accepted")
	}
}

func TestTLS(t *testing.T) {
	l := ensure(t, t.TempDir(), Options{})
	serve := func(c *tls.Config) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(r.TLS.PeerCertificates) > 0 {
				_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
			}
		}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.Listener = tls.NewListener(s.Listener, c)
		s.Start()
		s.URL = "https://" + s.Listener.Addr().String()
		t.Cleanup(s.Close)
		return s
	}
	get := func(s *httptest.Server, c *tls.Config) (string, error) {
		tr := &http.Transport{TLSClientConfig: c}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get(s.URL)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	strict, err := l.ServerTLS(API)
	if err != nil {
		t.Fatal(err)
	}
	optional, err := l.ServerTLSOptional(Gateway)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := l.ClientTLS(Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := l.CAPool()
	if err != nil {
		t.Fatal(err)
	}
	anonymous := &tls.Config{RootCAs: pool}
	other, err := ensure(t, t.TempDir(), Options{}).ClientTLS(Admin, "")
	if err != nil {
		t.Fatal(err)
	}
	other.RootCAs = pool
	if who, err := get(serve(strict), admin); err != nil || who != "kubernetes-admin" {
		t.Errorf("%q, %v", who, err)
	}
	if _, err := get(serve(strict), anonymous); err == nil {
		t.Error("a client without a certificate got in")
	}
	if _, err := get(serve(strict), other); err == nil {
		t.Error("a client of another authority got in")
	}
	if who, err := get(serve(optional), anonymous); err != nil || who != "" {
		t.Errorf("%q, %v", who, err)
	}
	if _, err := get(serve(optional), other); err == nil {
		t.Error("a forged certificate was overlooked")
	}
}

func TestKubeconfig(t *testing.T) {
	l := ensure(t, t.TempDir(), Options{})
	file := filepath.Join(t.TempDir(), "sub", "kubeconfig")
	if err := l.WriteKubeconfig(file, Admin, "https://127.0.0.1:6443"); err != nil {
		t.Fatal(err)
	}
	c, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	if c.Host != "https://127.0.0.1:6443" || len(c.CertData) == 0 || len(c.KeyData) == 0 || len(c.CAData) == 0 {
		t.Errorf("%+v", c)
	}
}
