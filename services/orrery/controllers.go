package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/pflag"

	"github.com/orrery-io/orrery/services/controllers"
	"github.com/orrery-io/orrery/services/internal/pki"
)

type controllersOptions struct {
	clientOptions
	identity string
	enabled  []string
}

func (o *controllersOptions) bind(flags *pflag.FlagSet) {
	o.clientOptions.bind(flags)
	flags.StringVar(&o.identity, "identity", "", "name of this process among the candidates for leadership, the same after a restart and no other's; hostname and something random when empty")
	flags.StringSliceVar(&o.enabled, "controllers", nil, "controllers to run; all when empty")
}

func (o *controllersOptions) build(logger *slog.Logger) (runner, error) {
	api, err := o.config(pki.Controllers, "controllers")
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(o.layout().CAFile())
	if err != nil {
		return nil, fmt.Errorf("reading the certificate authority: %w", err)
	}
	return controllers.New(controllers.Config{API: api, RootCA: authority, Identity: o.identity, Enabled: o.enabled, LeaderElect: true, Logger: logger.With("service", "controllers")})
}
