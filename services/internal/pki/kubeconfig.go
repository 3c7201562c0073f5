package pki

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is a client configuration for the certificate name against server ("https://127.0.0.1:6443"), complete in
// itself: certificates and key are embedded.
func (l *Layout) Kubeconfig(name, server string) (*clientcmdapi.Config, error) {
	ca, err := os.ReadFile(l.CAFile())
	if err != nil {
		return nil, fmt.Errorf("pki: cannot read the authority's certificate: %w", err)
	}
	cert, err := os.ReadFile(l.CertFile(name))
	if err != nil {
		return nil, fmt.Errorf("pki: cannot read the certificate %q: %w", name, err)
	}
	key, err := os.ReadFile(l.KeyFile(name))
	if err != nil {
		return nil, fmt.Errorf("pki: cannot read the key of %q: %w", name, err)
	}
	const cluster = "orrery"
	user := name
	if name == Admin {
		user = "kubernetes-admin"
	}
	c := clientcmdapi.NewConfig()
	c.Clusters[cluster] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[user] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	c.Contexts[cluster] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user}
	c.CurrentContext = cluster
	return c, nil
}

// WriteKubeconfig writes Kubeconfig(name, server) to file, readable by its owner only, whole or not at all.
func (l *Layout) WriteKubeconfig(file, name, server string) error {
	c, err := l.Kubeconfig(name, server)
	if err != nil {
		return err
	}
	data, err := clientcmd.Write(*c)
	if err != nil {
		return fmt.Errorf("pki: cannot encode the kubeconfig: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("pki: cannot make the kubeconfig's folder: %w", err)
	}
	return writeAtomic(file, data, 0o600)
}
