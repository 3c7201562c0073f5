package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/backup"
	"github.com/orrery-io/orrery/services/store/operator"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

func snapshotCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "snapshot", GroupID: "tool", Short: "Back the store up and restore it",
		Example: "  orrery snapshot save /backup/store.snapshot\n  orrery snapshot status /backup/store.snapshot\n  orrery snapshot restore /backup/store.snapshot --data-dir /var/lib/orrery/store"}
	cmd.AddCommand(snapshotSaveCommand(), snapshotStatusCommand(), snapshotRestoreCommand(), snapshotLoadCommand())
	return cmd
}

func snapshotSaveCommand() *cobra.Command {
	o := &operatorOptions{}
	var member, consistency string
	cmd := &cobra.Command{Use: "save FILE", Short: "Save the content of the running store to a file and verify it", Args: cobra.ExactArgs(1),
		Long: "Save streams the whole store at one revision from a member, a follower when there is one, into FILE. The file gets its name when it is whole, on disk and verified. It holds everything that is in the cluster, secrets too.",
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			serializable, err := serializable(consistency)
			if err != nil {
				return err
			}
			source, err := op.SnapshotSource(cmd.Context(), member, serializable)
			if err != nil {
				return err
			}
			info, err := backup.Save(args[0], func(w io.Writer) error { return op.Snapshot(cmd.Context(), source, serializable, w) })
			if err != nil {
				if !serializable && source.Problem != "" {
					err = fmt.Errorf("%w; --consistency=s saves what the member has", err)
				}
				return err
			}
			result := struct {
				*backup.Info `json:",inline"`
				Member       string `json:"member"`
			}{info, source.Name}
			return o.print(cmd.OutOrStdout(), result, func(w io.Writer) {
				printInfo(w, info)
				fmt.Fprintf(w, "written by\t%s\n", source.Name)
			})
		})}
	o.bind(cmd.Flags())
	cmd.Flags().StringVar(&member, "member", "", "name of the member to read from; one is chosen when empty")
	bindConsistency(cmd, &consistency)
	return cmd
}

// bindConsistency declares --consistency as etcdctl has it.
func bindConsistency(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "consistency", "l", "l: everything acknowledged so far (linearizable); s: what the member has, also when the store has no leader (serializable)")
}

func serializable(consistency string) (bool, error) {
	switch consistency {
	case "l", "s":
		return consistency == "s", nil
	}
	return false, fmt.Errorf("--consistency %q: want l (linearizable) or s (serializable)", consistency)
}

func snapshotStatusCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "status FILE", Short: "Verify a snapshot file and say what is in it", Args: cobra.ExactArgs(1),
		Long: "Status reads a whole snapshot file, without a store, and fails when it is damaged, naming the place. It also takes files that `etcdctl snapshot save` wrote from this store.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.checkOutput(); err != nil {
				return err
			}
			info, err := backup.Inspect(args[0])
			if err != nil {
				return err
			}
			return o.print(cmd.OutOrStdout(), info, func(w io.Writer) { printInfo(w, info) })
		}}
	o.bindOutput(cmd.Flags())
	return cmd
}

func printInfo(w io.Writer, i *backup.Info) {
	fmt.Fprintf(w, "file\t%s\n", i.File)
	by := "orrery"
	if i.Container == backup.ContainerPadded {
		by = "etcdctl"
	}
	fmt.Fprintf(w, "format\t%d, as %s saves it\n", i.Format, by)
	fmt.Fprintf(w, "revision\t%d (history from %d)\n", i.Revision, i.CompactRevision)
	fmt.Fprintf(w, "keys\t%d (%d versions, %d leases)\n", i.Keys, i.Versions, i.Leases)
	fmt.Fprintf(w, "size\t%s (%d bytes)\n", size(i.SizeBytes), i.SizeBytes)
	fmt.Fprintf(w, "sha256\t%s\n", i.SHA256)
	fmt.Fprintf(w, "checksums\tall correct\n")
}

func snapshotRestoreCommand() *cobra.Command {
	o := &operatorOptions{}
	var name, advertise string
	var initial []string
	var bump int64
	cmd := &cobra.Command{Use: "restore FILE", Short: "Make the data folder of a new cluster's member from a snapshot file", Args: cobra.ExactArgs(1),
		Long: "Restore makes a new cluster: it fills the empty data folder of a member that does not run. For several members run it once for each, with the same file, the same --initial-member flags, " +
			"and the member's own --name and --data-dir; then start them. Revisions move on, so that no client takes what it saw before for the present: watches end and everything is listed again. " +
			"Members of the cluster before are not let in.",
		Example: "  orrery snapshot restore store.snapshot --data-dir /var/lib/orrery/store\n" +
			"  orrery snapshot restore store.snapshot --data-dir /var/lib/orrery/store --name a --initial-member a=10.0.0.1:2380,b=10.0.0.2:2380,c=10.0.0.3:2380",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.checkOutput(); err != nil {
				return err
			}
			dir, raft := memberDir(o.dataDir)
			if advertise == "" {
				advertise = raft
			}
			members, err := initialMembers(initial, name, advertise)
			if err != nil {
				return err
			}
			done, err := backup.Restore(args[0], backup.RestoreOptions{DataDir: dir, Name: name, Members: members, Bump: bump})
			if err != nil {
				return err
			}
			return o.print(cmd.OutOrStdout(), done, func(w io.Writer) {
				fmt.Fprintf(w, "restored\t%s\n", done.DataDir)
				fmt.Fprintf(w, "member\t%s of %d\n", name, len(members))
				fmt.Fprintf(w, "keys\t%d\n", done.From.Keys)
				fmt.Fprintf(w, "revision\t%d (the snapshot's is %d)\n", done.Revision, done.From.Revision)
				fmt.Fprintf(w, "sha256\t%s\n", done.From.SHA256)
			})
		}}
	o.bindOutput(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.dataDir, "data-dir", defaultDataDir(), "data folder to make: that of `orrery store --data-dir`, or of `orrery up --data-dir`, whose store is in a folder of it")
	flags.StringVar(&name, "name", store.DefaultName, "name of the member")
	flags.StringSliceVar(&initial, "initial-member", nil, "member of the new cluster as NAME=HOST:PORT with its Raft port, this one among them; none means this one alone")
	flags.StringVar(&advertise, "raft-advertise", "", "host:port by which other members reach this one, when it is alone")
	flags.Int64Var(&bump, "bump-revision", 0, "by how much revisions move on: more than the lost cluster wrote after the snapshot; 0 means 1,000,000,000")
	return cmd
}

// memberDir is the store's data folder in a folder of `orrery up`, or the folder itself; with the Raft address found there.
func memberDir(dir string) (member, raftAddress string) {
	p, err := readPorts(dir)
	if err == nil {
		return filepath.Join(dir, "store"), p.Raft
	}
	if _, err := os.Stat(filepath.Join(dir, "pki")); err == nil {
		return filepath.Join(dir, "store"), defaultRaftAddress
	}
	return dir, defaultRaftAddress
}

// defaultRaftAddress is where a member serves the others that was told nothing else.
const defaultRaftAddress = "127.0.0.1:2380"

// initialMembers reads --initial-member flags.
func initialMembers(flags []string, name, advertise string) (out []raftnode.Peer, err error) {
	for _, f := range flags {
		n, address, ok := strings.Cut(f, "=")
		if !ok {
			return nil, fmt.Errorf("--initial-member %q: want NAME=HOST:PORT", f)
		}
		if err := checkRaftAddress(address); err != nil {
			return nil, err
		}
		out = append(out, raftnode.Peer{Name: n, Address: address})
	}
	if len(out) == 0 {
		out = []raftnode.Peer{{Name: name, Address: advertise}}
	}
	return out, nil
}

func snapshotLoadCommand() *cobra.Command {
	o := &operatorOptions{}
	yes := false
	cmd := &cobra.Command{Use: "load FILE", Short: "Replace the content of the running store by that of a snapshot file", Args: cobra.ExactArgs(1),
		Long: "Load takes the running store back to a snapshot: everything written since is gone. Its members stay. Revisions move on and all watches end, so that every client lists again.",
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			info, err := backup.Inspect(args[0])
			if err != nil {
				return err
			}
			if !yes {
				return errors.New("everything that was written after the snapshot would be lost: save a snapshot of the present first, then say --yes")
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			var revision int64
			return o.change(cmd, map[string]any{"from": info, "revision": &revision}, "the store goes on from the snapshot", func(ctx context.Context) error {
				revision, err = op.Load(ctx, f)
				return err
			})
		})}
	o.bind(cmd.Flags())
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	return cmd
}
