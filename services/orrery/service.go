package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/config"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// runner is a built service. Run returns when ctx is over and everything is drained, or when the service cannot go on.
type runner interface {
	Run(ctx context.Context) error
	Ready() <-chan struct{}
}

// options are a service's flags: bind declares them, build makes the service of their values.
type options interface {
	bind(flags *pflag.FlagSet)
	build(logger *slog.Logger) (runner, error)
}

// service is one entry of the table.
type service struct {
	name, short string
	options     func() options
}

// services in the order in which they start; they stop in reverse.
var services = []service{
	{"store", "The database: a member of the Raft group that holds the cluster's state", func() options { return &storeOptions{} }},
	{"api", "The front door: authentication, authorization, validation, watches, over the store", func() options { return &apiOptions{} }},
	{"gateway", "HTTP and JSON in, gRPC out: what kubectl talks to", func() options { return &gatewayOptions{} }},
	{"scheduler", "Finds a node for each pod", func() options { return &schedulerOptions{} }},
	{"node", "The agent of one machine: runs its pods", func() options { return &nodeOptions{} }},
	{"controllers", "The loops that make the cluster what it is told to be", func() options { return &controllersOptions{} }},
}

func serviceNamed(name string) service {
	for _, s := range services {
		if s.name == name {
			return s
		}
	}
	panic("no service " + name)
}

// command is the service as a subcommand.
func (s service) command() *cobra.Command {
	o := s.options()
	var process processOptions
	cmd := &cobra.Command{Use: s.name, Short: s.short, GroupID: "service", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return process.run(cmd.Context(), s.name, func(ctx context.Context, logger *slog.Logger) error {
				built, err := o.build(logger)
				if err != nil {
					return err
				}
				return built.Run(ctx)
			})
		}}
	o.bind(cmd.Flags())
	process.bind(cmd.Flags())
	config.Attach(cmd)
	return cmd
}

// processOptions are the flags that every process has.
type processOptions struct {
	logLevel      string
	logFormat     string
	metricsListen string
}

func (p *processOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&p.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&p.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&p.metricsListen, "metrics-listen", "", "host:port on which to serve Prometheus metrics at /metrics and profiles at /debug/pprof; empty for none")
}

func (p *processOptions) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q: want debug, info, warn or error", p.logLevel)
	}
	o := &slog.HandlerOptions{Level: level}
	var handler slog.Handler
	switch p.logFormat {
	case "text":
		handler = slog.NewTextHandler(os.Stderr, o)
	case "json":
		handler = slog.NewJSONHandler(os.Stderr, o)
	default:
		return nil, fmt.Errorf("--log-format %q: want text or json", p.logFormat)
	}
	return slog.New(telemetry.LogHandler(handler)), nil
}

// run sets the process up, runs f in it, and takes it down.
func (p *processOptions) run(ctx context.Context, name string, f func(context.Context, *slog.Logger) error) error {
	logger, err := p.logger()
	if err != nil {
		return err
	}
	slog.SetDefault(logger)
	shutdown, err := telemetry.Setup(ctx, telemetry.Options{Service: name, Version: version(), Logger: logger})
	if err != nil {
		return err
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := shutdown(end); err != nil {
			logger.Warn("telemetry was not flushed", "error", err)
		}
	}()
	if p.metricsListen != "" {
		stop, err := serveMetrics(p.metricsListen, logger)
		if err != nil {
			return err
		}
		defer stop()
	}
	return f(ctx, logger)
}

func serveMetrics(address string, logger *slog.Logger) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics-listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", telemetry.MetricsHandler())
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); err != http.ErrServerClosed {
			logger.Error("the metrics server ended", "error", err)
		}
	}()
	return func() { _ = server.Close(); <-done }, nil
}

// identityOptions say where a service's certificate is.
type identityOptions struct{ pkiDir string }

func (o *identityOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.pkiDir, "pki-dir", "/var/lib/orrery/pki", "folder with ca.crt and this service's certificate and key, as `orrery pki init` makes it")
}

func (o *identityOptions) layout() *pki.Layout { return pki.Open(o.pkiDir) }

// clientOptions are the flags of everything that is a client of the api.
type clientOptions struct {
	identityOptions
	api []string
}

func (o *clientOptions) bind(flags *pflag.FlagSet) {
	o.identityOptions.bind(flags)
	flags.StringSliceVar(&o.api, "api", []string{"127.0.0.1:6444"}, "host:port of the api service; several are balanced")
}

func (o *clientOptions) config(identity, userAgent string) (apiclient.Config, error) {
	tls, err := o.layout().ClientTLS(identity, "localhost")
	if err != nil {
		return apiclient.Config{}, err
	}
	return apiclient.Config{Addresses: o.api, TLS: tls, UserAgent: "orrery-" + userAgent + "/" + version()}, nil
}
