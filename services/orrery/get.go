package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

// pageSize is how many keys are read at a time.
const pageSize = 1000

func getCommand() *cobra.Command {
	var dataDir string
	var prefix, keysOnly bool
	cmd := &cobra.Command{Use: "get KEY", GroupID: "tool", Short: "Read the running store, as etcdctl does", Args: cobra.ExactArgs(1),
		Long:    "Get reads keys of the running store with the identity found in the data folder, and prints each key and, on the next line, its value.",
		Example: "  orrery get --prefix --keys-only /registry/pods/\n  orrery get /registry/deployments/default/web",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, closeStore, err := openStore(dataDir)
			if err != nil {
				return err
			}
			defer closeStore()
			return printKeys(cmd.Context(), cmd.OutOrStdout(), store, args[0], prefix, keysOnly)
		}}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir(), "data folder of the running cluster")
	cmd.Flags().BoolVar(&prefix, "prefix", false, "read every key that begins with KEY")
	cmd.Flags().BoolVar(&keysOnly, "keys-only", false, "print keys without values")
	return cmd
}

// openStore connects to the store that runs on the data folder.
func openStore(dataDir string) (kv.KV, func() error, error) {
	ports, err := readPorts(dataDir)
	if err != nil {
		return nil, nil, err
	}
	tls, err := pki.Open(filepath.Join(dataDir, "pki")).ClientTLS(pki.Admin, "localhost")
	if err != nil {
		return nil, nil, err
	}
	store, err := client.New(client.Config{Endpoints: []string{ports.Store}, TLS: tls})
	if err != nil {
		return nil, nil, err
	}
	return store, store.Close, nil
}

func printKeys(ctx context.Context, w io.Writer, store kv.KV, key string, prefix, keysOnly bool) error {
	request := kv.RangeRequest{Key: []byte(key), KeysOnly: keysOnly, Limit: pageSize}
	if prefix {
		request.End = kv.PrefixEnd(request.Key)
	}
	found := false
	for {
		page, err := store.Range(ctx, request)
		if err != nil {
			return fmt.Errorf("reading %s: %w", key, err)
		}
		for _, pair := range page.KVs {
			found = true
			fmt.Fprintf(w, "%s\n", pair.Key)
			if !keysOnly {
				fmt.Fprintf(w, "%s\n", pair.Value)
			}
		}
		if !page.More {
			break
		}
		// The next page begins after the last key, at the same revision.
		request.Revision = page.Revision
		request.Key = append(page.KVs[len(page.KVs)-1].Key, 0)
	}
	if !found && !prefix {
		return errors.New("no such key: " + key)
	}
	return nil
}
