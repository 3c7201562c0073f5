package store_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/client"
)

// authority issues certificates for a test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, pool: x509.NewCertPool()}
	a.cert, a.key = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	a.pool.AddCert(a.cert)
	return a
}

func (a *authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, _ = rand.Int(rand.Reader, big.NewInt(1<<62))
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) pair(name string, orgs ...string) (server, clientTLS *tls.Config) {
	cert, key := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name, Organization: orgs}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	p := []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}
	return &tls.Config{Certificates: p, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool, MinVersion: tls.VersionTLS13},
		&tls.Config{Certificates: p, RootCAs: a.pool, MinVersion: tls.VersionTLS13}
}

// TestTLS runs three members over mTLS and shows who may call them.
func TestTLS(t *testing.T) {
	ca := newAuthority(t)
	srv, cli := ca.pair("orrery-store-0")
	secure := &store.TLS{Server: srv, Client: cli}
	var initial []store.Member
	for _, n := range []string{"a", "b", "c"} {
		initial = append(initial, store.Member{Name: n, RaftAddr: freeAddr(t)})
	}
	var ms []*member
	for _, i := range initial {
		ms = append(ms, start(t, store.Config{Name: i.Name, RaftAddr: i.RaftAddr, InitialMembers: initial, TLS: secure}))
	}
	for _, m := range ms {
		m.waitReady()
	}
	connect := func(cfg *tls.Config) *client.Client {
		c, err := client.New(client.Config{Endpoints: []string{ms[0].Addr(), ms[1].Addr()}, TLS: cfg, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	_, api := ca.pair("system:orrery:api", "system:orrery:store-clients")
	mustPut(t, connect(api), "/a", "1")
	_, node := ca.pair("system:node:n1", "system:nodes")
	if _, err := connect(node).Revision(t.Context()); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a node's certificate got %v, want %v", err, codes.PermissionDenied)
	}
	_, stranger := newAuthority(t).pair("orrery-store-0", "system:masters")
	stranger.RootCAs = ca.pool
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := connect(stranger).Revision(ctx); err == nil {
		t.Error("a certificate of another authority was accepted")
	}
	// The peers' port is closed to those who are not members, whoever vouches for them.
	conn, err := tls.Dial("tcp", initial[0].RaftAddr, api)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write(bytes.Repeat([]byte("R"), 10))
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the port for peers talked to an API server")
	}
}
