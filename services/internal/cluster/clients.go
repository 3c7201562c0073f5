package cluster

import (
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// APIAddr and GatewayAddr are host:port of the two doors: gRPC and HTTPS.
func (c *Cluster) APIAddr() string { return c.addr.api }

// GatewayAddr is where Kubernetes' REST API is.
func (c *Cluster) GatewayAddr() string { return c.addr.gateway }

// StoreAddr is where the store takes clients.
func (c *Cluster) StoreAddr() string { return c.addr.store }

// Client calls the api over gRPC as the holder of a certificate: pki.Admin, a component, or one of Options.Identities.
func (c *Cluster) Client(identity string) *apiclient.Client {
	c.t.Helper()
	config, err := c.clientConfig(identity)
	if err != nil {
		c.t.Fatal(err)
	}
	config.Service = "test"
	client, closeConn, err := apiclient.Dial(config)
	if err != nil {
		c.t.Fatal(err)
	}
	c.onStop(closeConn)
	return client
}

// RESTConfig is client-go's configuration for the holder of a certificate, towards the gateway.
func (c *Cluster) RESTConfig(identity string) *rest.Config {
	c.t.Helper()
	kubeconfig, err := c.PKI.Kubeconfig(identity, "https://"+c.addr.gateway)
	if err != nil {
		c.t.Fatal(err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	if err != nil {
		c.t.Fatal(err)
	}
	return config
}

// HTTP is a plain HTTPS client towards the gateway, with the certificate identity or, when it is "", without one.
func (c *Cluster) HTTP(identity string) *http.Client {
	c.t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 4}
	if identity != "" {
		tls, err := c.PKI.ClientTLS(identity, "localhost")
		if err != nil {
			c.t.Fatal(err)
		}
		transport.TLSClientConfig = tls
	} else {
		pool, err := c.PKI.CAPool()
		if err != nil {
			c.t.Fatal(err)
		}
		transport.TLSClientConfig = anonymousTLS(pool)
	}
	c.onStop(func() error { transport.CloseIdleConnections(); return nil })
	return &http.Client{Transport: transport}
}
