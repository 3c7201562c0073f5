package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/operator"
)

// defaultStoreAddress is where a member serves clients that was told nothing else.
const defaultStoreAddress = "127.0.0.1:2379"

// endpointsVariable is the environment's word for --endpoints.
const endpointsVariable = "ORRERY_ENDPOINTS"

// operatorOptions say which store an operator's command is about, and how its answer is written.
type operatorOptions struct {
	dataDir, pkiDir, output string
	endpoints               []string
	timeout                 time.Duration
}

func (o *operatorOptions) bind(flags *pflag.FlagSet) {
	o.bindStore(flags)
	o.bindOutput(flags)
	flags.DurationVar(&o.timeout, "timeout", operator.DefaultTimeout, "how long a member is waited for")
}

func (o *operatorOptions) bindStore(flags *pflag.FlagSet) {
	flags.StringVar(&o.dataDir, "data-dir", defaultDataDir(), "data folder of the running cluster, where addresses and certificates are found")
	flags.StringSliceVar(&o.endpoints, "endpoints", nil, "host:port of members, in place of $"+endpointsVariable+" and of those found in the data folder; one is enough")
	flags.StringVar(&o.pkiDir, "pki-dir", "", "folder with ca.crt and the administrator's certificate; pki in the data folder when empty")
}

func (o *operatorOptions) bindOutput(flags *pflag.FlagSet) {
	flags.StringVarP(&o.output, "output", "o", "table", "table, json or yaml")
}

// checkOutput refuses a form of output that there is not, before anything is done.
func (o *operatorOptions) checkOutput() error {
	switch o.output {
	case "table", "json", "yaml":
		return nil
	}
	return fmt.Errorf("--output %q: want table, json or yaml", o.output)
}

// locate finds the addresses of members and the folder of certificates.
func (o *operatorOptions) locate() (endpoints []string, layout *pki.Layout, err error) {
	dir := o.pkiDir
	if dir == "" {
		dir = filepath.Join(o.dataDir, "pki")
	}
	layout = pki.Open(dir)
	if len(o.endpoints) > 0 {
		return o.endpoints, layout, nil
	}
	if set := os.Getenv(endpointsVariable); set != "" {
		return strings.Split(set, ","), layout, nil
	}
	p, err := readPorts(o.dataDir)
	if err == nil {
		return []string{p.Store}, layout, nil
	}
	// A member that runs by itself leaves no addresses behind; its certificates say that it is at home here.
	if _, statErr := os.Stat(layout.CAFile()); statErr == nil && errors.Is(err, os.ErrNotExist) {
		return []string{defaultStoreAddress}, layout, nil
	}
	return nil, nil, fmt.Errorf("%w, or name a member with --endpoints HOST:PORT and its certificates with --pki-dir", err)
}

// operator connects to the members.
func (o *operatorOptions) operator() (*operator.Operator, error) {
	if err := o.checkOutput(); err != nil {
		return nil, err
	}
	endpoints, layout, err := o.locate()
	if err != nil {
		return nil, err
	}
	tls, err := layout.ClientTLS(pki.Admin, "localhost")
	if err != nil {
		return nil, fmt.Errorf("%w: name the folder of the cluster's certificates with --pki-dir", err)
	}
	return operator.New(operator.Config{Endpoints: endpoints, TLS: tls, Timeout: o.timeout})
}

// client connects to the store as its users do, over all members named.
func (o *operatorOptions) client(cfg client.Config) (*client.Client, error) {
	endpoints, layout, err := o.locate()
	if err != nil {
		return nil, err
	}
	if cfg.TLS, err = layout.ClientTLS(pki.Admin, "localhost"); err != nil {
		return nil, fmt.Errorf("%w: name the folder of the cluster's certificates with --pki-dir", err)
	}
	cfg.Endpoints = endpoints
	return client.New(cfg)
}

// withOperator makes the body of a command that needs the members.
func (o *operatorOptions) withOperator(run func(cmd *cobra.Command, op *operator.Operator, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		op, err := o.operator()
		if err != nil {
			return err
		}
		defer op.Close()
		return run(cmd, op, args)
	}
}

// print writes v as JSON or YAML, or calls table.
func (o *operatorOptions) print(w io.Writer, v any, table func(w io.Writer)) error {
	switch o.output {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(v)
	case "yaml":
		data, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	table(t)
	return t.Flush()
}

// size is a number of bytes for people.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1024, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	if value < 10 {
		return fmt.Sprintf("%.1f %s", value, unit)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}
