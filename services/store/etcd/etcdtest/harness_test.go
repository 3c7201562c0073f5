package etcdtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/orrery-io/orrery/services/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// certificates are files of an authority and of one certificate for everybody, made once.
type certificates struct {
	dir            string
	server, client *tls.Config
	stranger       *tls.Config // of a client that has no business with the store
}

func (c *certificates) ca() string   { return filepath.Join(c.dir, "ca.crt") }
func (c *certificates) cert() string { return filepath.Join(c.dir, "all.crt") }
func (c *certificates) key() string  { return filepath.Join(c.dir, "all.key") }

func newCertificates(t *testing.T) *certificates {
	t.Helper()
	c := &certificates{dir: t.TempDir()}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	newKey := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		return k
	}
	until := time.Now().Add(time.Hour)
	caKey, key := newKey(), newKey()
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: until}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	must(err)
	sign := func(serial int64, subject pkix.Name) []byte {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: subject, NotAfter: until,
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
		der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
		must(err)
		return der
	}
	der := sign(2, pkix.Name{CommonName: "orrery-store", Organization: []string{"system:masters"}})
	keyDER, err := x509.MarshalECPrivateKey(key)
	must(err)
	write := func(path, kind string, der []byte) {
		must(os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
	}
	write(c.ca(), "CERTIFICATE", caDER)
	write(c.cert(), "CERTIFICATE", der)
	write(c.key(), "EC PRIVATE KEY", keyDER)
	pool := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(caDER)
	must(err)
	pool.AddCert(parsed)
	pair := []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	c.server = &tls.Config{Certificates: pair, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	c.client = &tls.Config{Certificates: pair, RootCAs: pool, MinVersion: tls.VersionTLS12}
	node := tls.Certificate{Certificate: [][]byte{sign(3, pkix.Name{CommonName: "system:node:n1", Organization: []string{"system:nodes"}})}, PrivateKey: key}
	c.stranger = &tls.Config{Certificates: []tls.Certificate{node}, RootCAs: pool, MinVersion: tls.VersionTLS12}
	return c
}

// member is one running member of the store.
type member struct {
	*store.Service
	t       *testing.T
	cfg     store.Config
	cancel  context.CancelFunc
	done    chan error
	stopped bool
}

// start runs a member until the test ends.
func start(t *testing.T, certs *certificates, cfg store.Config) *member {
	t.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	cfg.TLS = &store.TLS{Server: certs.server, Client: certs.client}
	cfg.Logger = slog.New(slog.NewTextHandler(output{t}, nil))
	s, err := store.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{Service: s, t: t, cfg: cfg, cancel: cancel, done: make(chan error, 1)}
	go func() { m.done <- s.Run(ctx) }()
	t.Cleanup(m.stop)
	return m
}

func (m *member) stop() {
	if m.stopped {
		return
	}
	m.stopped = true
	m.cancel()
	if err := <-m.done; err != nil {
		m.t.Errorf("%s: %v", m.cfg.Name, err)
	}
}

func (m *member) waitReady() *member {
	m.t.Helper()
	select {
	case <-m.Ready():
	case err := <-m.done:
		m.stopped = true
		m.t.Fatalf("%s ended: %v", m.cfg.Name, err)
	case <-time.After(30 * time.Second):
		m.t.Fatalf("%s is not ready", m.cfg.Name)
	}
	return m
}

// cluster is a number of members and the means to talk to them.
type cluster struct {
	t       *testing.T
	certs   *certificates
	members []*member // the leader first
}

// newCluster runs n members.
func newCluster(t *testing.T, n int, change ...func(*store.Config)) *cluster {
	t.Helper()
	c := &cluster{t: t, certs: newCertificates(t)}
	var initial []store.Member
	for i := range n {
		initial = append(initial, store.Member{Name: fmt.Sprintf("m%d", i), RaftAddr: freeAddr(t)})
	}
	for _, i := range initial {
		cfg := store.Config{Name: i.Name, RaftAddr: i.RaftAddr, InitialMembers: initial}
		for _, f := range change {
			f(&cfg)
		}
		c.members = append(c.members, start(t, c.certs, cfg))
	}
	for _, m := range c.members {
		m.waitReady()
	}
	for i, m := range c.members {
		if m.Node().IsLeader() {
			c.members[0], c.members[i] = m, c.members[0]
		}
	}
	return c
}

// client connects to the given members, or to all.
func (c *cluster) client(t *testing.T, ms ...*member) *clientv3.Client {
	t.Helper()
	return c.clientAs(t, c.certs.client, ms...)
}

func (c *cluster) clientAs(t *testing.T, as *tls.Config, ms ...*member) *clientv3.Client {
	t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: c.endpoints(ms...), TLS: as, DialTimeout: 5 * time.Second,
		MaxCallSendMsgSize: 16 << 20, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cli.Close() })
	return cli
}

func (c *cluster) endpoints(ms ...*member) (out []string) {
	if len(ms) == 0 {
		ms = c.members
	}
	for _, m := range ms {
		out = append(out, "https://"+m.Addr())
	}
	return out
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// output logs into the test's output.
type output struct{ t *testing.T }

func (o output) Write(p []byte) (int, error) {
	o.t.Logf("%s", p)
	return len(p), nil
}

// limited is a context for one test.
func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// ok fails the test on an error; fail is for the results of a call.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func get[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		ok(t, err)
		return v
	}
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}
