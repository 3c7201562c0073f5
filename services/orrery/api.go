package main

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/orrery-io/orrery/services/api"
	"github.com/orrery-io/orrery/services/internal/pki"
)

type apiOptions struct {
	identityOptions
	listen string
	store  []string
}

func (o *apiOptions) bind(flags *pflag.FlagSet) {
	o.identityOptions.bind(flags)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:6444", "host:port to serve gRPC on")
	flags.StringSliceVar(&o.store, "store", []string{"127.0.0.1:2379"}, "host:port of the store's members")
}

func (o *apiOptions) build(logger *slog.Logger) (runner, error) {
	layout := o.layout()
	server, err := layout.ServerTLS(pki.API)
	if err != nil {
		return nil, err
	}
	store, err := layout.ClientTLS(pki.API, "localhost")
	if err != nil {
		return nil, err
	}
	return api.New(api.Config{ListenAddr: o.listen, StoreEndpoints: o.store, StoreTLS: store, ServerTLS: server, Logger: logger})
}
