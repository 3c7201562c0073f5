package main

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/orrery-io/orrery/services/gateway"
	"github.com/orrery-io/orrery/services/internal/pki"
)

type gatewayOptions struct {
	clientOptions
	listen string
}

func (o *gatewayOptions) bind(flags *pflag.FlagSet) {
	o.clientOptions.bind(flags)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:6443", "host:port to serve Kubernetes' REST API on")
}

func (o *gatewayOptions) build(logger *slog.Logger) (runner, error) {
	layout := o.layout()
	server, err := layout.ServerTLSOptional(pki.Gateway)
	if err != nil {
		return nil, err
	}
	api, err := o.config(pki.Gateway, "gateway")
	if err != nil {
		return nil, err
	}
	listener, err := inheritedListener()
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{Listener: listener, ListenAddr: o.listen, APIAddrs: o.api, ServerTLS: server, APITLS: api.TLS, Logger: logger})
}
