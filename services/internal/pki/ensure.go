package pki

import (
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"k8s.io/utils/clock"
)

// Options says what the certificates have to cover.
type Options struct {
	// Hosts and IPs are added to the names that server certificates always carry: localhost, its addresses and the names of
	// the kubernetes Service.
	Hosts []string
	IPs   []net.IP
	// Nodes are the nodes whose agents get a certificate here.
	Nodes []string
	// Extra identities beyond Components and Nodes.
	Extra []Identity
	// Clock decides what expires; nil is the real one.
	Clock clock.PassiveClock
}

// Layout is a folder of certificates.
type Layout struct {
	// Dir is the folder.
	Dir string
	// Issued names the certificates that Ensure issued, with the reason: "gateway: does not exist".
	Issued []string
}

// Open is the layout of a folder that is already filled; nothing is read yet.
func Open(dir string) *Layout { return &Layout{Dir: dir} }

// CAFile is the authority's certificate.
func (l *Layout) CAFile() string { return filepath.Join(l.Dir, "ca.crt") }

// CertFile is the certificate called name, one of the constants or NodeCert.
func (l *Layout) CertFile(name string) string { return filepath.Join(l.Dir, name+".crt") }

// KeyFile is the private key that belongs to CertFile(name).
func (l *Layout) KeyFile(name string) string { return filepath.Join(l.Dir, name+".key") }

// alwaysHosts and alwaysIPs are how clients reach a server on the same machine, and the front door from inside a pod.
var (
	alwaysHosts = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	alwaysIPs   = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)}
)

// Ensure makes dir hold the authority and a valid certificate for every component and node of o: what is missing is made, what
// expires within 30 days or covers too few names is replaced, all else is left alone. Several processes may call it at once.
func Ensure(dir string, o Options) (*Layout, error) {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	ids := append(Components(), o.Extra...)
	for _, n := range o.Nodes {
		ids = append(ids, NodeIdentity(n))
	}
	for _, id := range ids {
		if err := id.validate(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("pki: cannot make the certificate folder: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, ".lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()

	l := Open(dir)
	ca, err := l.ensureCA(o)
	if err != nil {
		return nil, err
	}
	hosts := append(slices.Clone(alwaysHosts), o.Hosts...)
	ips := append(slices.Clone(alwaysIPs), o.IPs...)
	for _, id := range ids {
		if err := l.ensureCert(ca, id, hosts, ips, o); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (l *Layout) ensureCA(o Options) (*authority, error) {
	now := o.Clock.Now()
	keyFile := l.KeyFile("ca")
	cert, key, err := loadPair(l.CAFile(), keyFile)
	switch {
	case err == nil:
		if !cert.IsCA {
			return nil, fmt.Errorf("pki: %s is not the certificate of an authority", l.CAFile())
		}
		if now.Before(cert.NotAfter.Add(-renewBefore)) {
			return &authority{cert: cert, key: key}, nil
		}
	case errors.Is(err, fs.ErrNotExist):
		// The key is written first: a key without a certificate is an interrupted start, and is used.
		if _, statErr := os.Stat(keyFile); statErr == nil {
			data, readErr := os.ReadFile(keyFile)
			if readErr != nil {
				return nil, fmt.Errorf("pki: cannot read the authority's key: %w", readErr)
			}
			if key, err = parseKey(data); err != nil {
				return nil, fmt.Errorf("pki: %s: %w", keyFile, err)
			}
			break
		}
		if _, statErr := os.Stat(l.CAFile()); statErr == nil {
			return nil, fmt.Errorf("pki: %s exists but its key %s does not: put the key back, or delete the whole folder to begin with a new authority", l.CAFile(), keyFile)
		}
		if key, err = newKey(); err != nil {
			return nil, fmt.Errorf("pki: cannot make the authority's key: %w", err)
		}
	default:
		return nil, err
	}
	ca, err := selfSign(key, now)
	if err != nil {
		return nil, fmt.Errorf("pki: cannot sign the authority's certificate: %w", err)
	}
	l.Issued = append(l.Issued, "ca: new certificate")
	return ca, l.writePair("ca", ca.cert, key)
}

func (l *Layout) ensureCert(ca *authority, id Identity, hosts []string, ips []net.IP, o Options) error {
	now := o.Clock.Now()
	reason := "does not exist"
	cert, _, err := loadPair(l.CertFile(id.Name), l.KeyFile(id.Name))
	switch {
	case err == nil:
		if reason = ca.stale(cert, id, hosts, ips, now); reason == "" {
			return nil
		}
		// Names that an earlier caller asked for stay: two processes with different addresses must not take turns.
		hosts, ips = union(hosts, ips, cert)
	case errors.Is(err, errMismatch):
		reason = "was left half renewed"
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	cert, key, err := ca.issue(id, hosts, ips, now)
	if err != nil {
		return fmt.Errorf("pki: cannot issue the certificate of %s: %w", id.Name, err)
	}
	l.Issued = append(l.Issued, id.Name+": "+reason)
	return l.writePair(id.Name, cert, key)
}

func union(hosts []string, ips []net.IP, cert *x509.Certificate) ([]string, []net.IP) {
	hosts, ips = slices.Clone(hosts), slices.Clone(ips)
	for _, h := range cert.DNSNames {
		if !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	for _, ip := range cert.IPAddresses {
		if !slices.ContainsFunc(ips, ip.Equal) {
			ips = append(ips, ip)
		}
	}
	return hosts, ips
}

// writePair writes the key, then the certificate, so that a certificate always has its key.
func (l *Layout) writePair(name string, cert *x509.Certificate, key crypto.Signer) error {
	keyPEM, err := encodeKey(key)
	if err != nil {
		return fmt.Errorf("pki: cannot encode the key of %s: %w", name, err)
	}
	if err := writeAtomic(l.KeyFile(name), keyPEM, 0o600); err != nil {
		return err
	}
	return writeAtomic(l.CertFile(name), encodeCert(cert), 0o644)
}

// writeAtomic replaces a file by rename: a reader sees the old content or the new one.
func writeAtomic(file string, data []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("pki: cannot write %s: %w", file, err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("pki: cannot write %s: %w", file, errors.Join(err, os.Remove(tmp.Name())))
	}
	return nil
}

// lock takes an exclusive lock that ends with the process at the latest.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("pki: cannot lock the certificate folder: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("pki: cannot lock %s: %w", file, errors.Join(err, f.Close()))
	}
	// Closing releases the lock; nothing was written, so its error tells nothing.
	return func() { _ = f.Close() }, nil
}
