package main

import (
	"log/slog"

	"github.com/spf13/pflag"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/scheduler"
)

type schedulerOptions struct {
	clientOptions
	identity string
}

func (o *schedulerOptions) bind(flags *pflag.FlagSet) {
	o.clientOptions.bind(flags)
	flags.StringVar(&o.identity, "identity", "", "name of this process among the candidates for leadership; the hostname when empty")
}

func (o *schedulerOptions) build(logger *slog.Logger) (runner, error) {
	api, err := o.config(pki.Scheduler, "scheduler")
	if err != nil {
		return nil, err
	}
	return scheduler.New(scheduler.Config{API: api, Identity: o.identity, Logger: logger.With("service", "scheduler")})
}
