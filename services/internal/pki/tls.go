package pki

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"
)

// ServerTLS is the configuration of a server that only clients with a certificate of this authority may talk to. The
// certificate is read again when its file changes, so a renewal needs no restart.
func (l *Layout) ServerTLS(name string) (*tls.Config, error) {
	return l.server(name, tls.RequireAndVerifyClientCert)
}

// ServerTLSOptional is the configuration of a server that also takes clients without a certificate, which then have to
// show who they are in another way; a certificate that is given must be valid.
func (l *Layout) ServerTLSOptional(name string) (*tls.Config, error) {
	return l.server(name, tls.VerifyClientCertIfGiven)
}

func (l *Layout) server(name string, auth tls.ClientAuthType) (*tls.Config, error) {
	pool, err := l.CAPool()
	if err != nil {
		return nil, err
	}
	pair, err := l.watchPair(name)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		ClientAuth: auth,
		ClientCAs:  pool,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return pair.current()
		},
	}, nil
}

// ClientTLS is the configuration of a client that shows the certificate name and expects the server to be serverName; with
// an empty serverName the dialled host is expected. Like a server's, the certificate follows its file.
func (l *Layout) ClientTLS(name, serverName string) (*tls.Config, error) {
	pool, err := l.CAPool()
	if err != nil {
		return nil, err
	}
	pair, err := l.watchPair(name)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		RootCAs:    pool,
		ServerName: serverName,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return pair.current()
		},
	}, nil
}

// CAPool holds the authority's certificate.
func (l *Layout) CAPool() (*x509.CertPool, error) { return PoolFromFile(l.CAFile()) }

// PoolFromFile reads PEM certificates.
func PoolFromFile(file string) (*x509.CertPool, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("pki: cannot read the authority's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("pki: %s holds no PEM certificate", file)
	}
	return pool, nil
}

// pair is a key pair that is read again when its certificate file changes.
type pair struct {
	certFile, keyFile string

	mu       sync.Mutex
	modified time.Time
	loaded   *tls.Certificate
}

func (l *Layout) watchPair(name string) (*pair, error) {
	p := &pair{certFile: l.CertFile(name), keyFile: l.KeyFile(name)}
	if _, err := p.current(); err != nil {
		return nil, fmt.Errorf("pki: cannot load the certificate %q: %w", name, err)
	}
	return p, nil
}

// current returns the newest pair that loads; one caught between the renewal of key and certificate is tried again at the
// next handshake.
func (p *pair) current() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(p.certFile)
	if err == nil && p.loaded != nil && info.ModTime().Equal(p.modified) {
		return p.loaded, nil
	}
	if err == nil {
		var c tls.Certificate
		if c, err = tls.LoadX509KeyPair(p.certFile, p.keyFile); err == nil {
			p.loaded, p.modified = &c, info.ModTime()
		}
	}
	if p.loaded == nil {
		return nil, err
	}
	return p.loaded, nil
}
