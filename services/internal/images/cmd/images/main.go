// Command images builds the OCI images for tests from the distribution's packages and serves them as a docker.io mirror.
//
//	images build --out DIR [--orrery bin/orrery] [--force]
//	images serve --layouts DIR [--listen 127.0.0.1:0] [--print-address]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/orrery-io/orrery/services/internal/images"
)

const usage = "usage: images build --out DIR [--orrery BINARY] [--force] | images serve --layouts DIR [--listen HOST:PORT] [--print-address]"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	flags := flag.NewFlagSet("images "+args[0], flag.ContinueOnError)
	switch args[0] {
	case "build":
		var options images.Options
		flags.StringVar(&options.Out, "out", "", "folder of the OCI layout")
		flags.StringVar(&options.Cache, "cache", "", "folder for unpacked packages (default: next to --out)")
		flags.StringVar(&options.Orrery, "orrery", "", "orrery binary to make orrery/orrery:latest of")
		flags.BoolVar(&options.Force, "force", false, "build what is there already, too")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return images.Build(ctx, options)
	case "serve":
		layouts := flags.String("layouts", "", "folder of the OCI layout")
		listen := flags.String("listen", "127.0.0.1:0", "address to serve on")
		print := flags.Bool("print-address", false, "print host:port on stdout once serving")
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		registry, err := images.Serve(ctx, *layouts, *listen)
		if err != nil {
			return err
		}
		if *print {
			fmt.Println(registry.Address())
		}
		<-ctx.Done()
		return registry.Close()
	}
	return fmt.Errorf("unknown command %q; %s", args[0], usage)
}
