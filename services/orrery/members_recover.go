package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/store/backup"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

// recovered is the answer of recover; the names of its fields are stable.
type recovered struct {
	Name          string   `json:"name"`
	FormerMembers []string `json:"formerMembers"`
	LastIndex     uint64   `json:"lastIndex"`
	LastTerm      uint64   `json:"lastTerm"`
	Keys          int64    `json:"keys"`
	// FormerRevision is where the member was, Revision where the new cluster begins; 0 when nothing was done.
	FormerRevision int64  `json:"formerRevision"`
	Revision       int64  `json:"revision,omitempty"`
	RaftAddress    string `json:"raftAddress,omitempty"`
	Copy           string `json:"copy,omitempty"`
}

func membersRecoverCommand() *cobra.Command {
	o := &operatorOptions{}
	var advertise, copyTo string
	var yes bool
	cmd := &cobra.Command{Use: "recover", Short: "Go on with one member when the majority is gone for good", Args: cobra.NoArgs,
		Long: "Recover makes the data folder of a stopped member that of a new cluster of this member alone. It is the last resort when a majority of the voting members is lost for good: what only they had is lost, " +
			"so a recent snapshot may hold more. Of several members that are left choose the one with the latest term and in it the highest index. Everything that it has is kept, and a copy of its folder. Revisions move on and all watches end, " +
			"so that every client lists again. The lost members are not let in if they come back: empty their data folders and add them anew. Without --yes the command only says what the folder holds.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.checkOutput(); err != nil {
				return err
			}
			dir, _ := memberDir(o.dataDir)
			was, err := raftnode.Inspect(dir)
			if err != nil {
				return err
			}
			result := recovered{Name: was.Name, LastIndex: was.LastIndex, LastTerm: was.LastTerm, Keys: was.Keys, FormerRevision: was.Revision}
			for _, m := range was.Members {
				result.FormerMembers = append(result.FormerMembers, m.Name)
			}
			if !yes {
				err := o.print(cmd.OutOrStdout(), result, result.table)
				return errors.Join(err, errors.New("nothing was changed: compare term and index with those of other members that are left, make sure that the lost ones do not run, then say --yes"))
			}
			if copyTo == "" {
				copyTo = filepath.Clean(dir) + "-before-recovery-" + time.Now().UTC().Format("20060102T150405Z")
			}
			result.Copy = copyTo
			if err := backup.CopyFolder(dir, copyTo); err != nil {
				return err
			}
			done, err := raftnode.Recover(raftnode.RecoverConfig{Name: was.Name, DataDir: dir, AdvertiseAddr: advertise})
			if err != nil {
				return fmt.Errorf("%w; the folder as it was is in %s", err, copyTo)
			}
			result.Revision, result.RaftAddress = done.Revision, done.AdvertiseAddr
			return o.print(cmd.OutOrStdout(), result, result.table)
		}}
	o.bindOutput(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&o.dataDir, "data-dir", defaultDataDir(), "the member's data folder: that of `orrery store --data-dir`, or of `orrery up --data-dir`, whose store is in a folder of it")
	flags.StringVar(&advertise, "raft-advertise", "", "host:port by which others will reach the member's Raft port; as before when empty")
	flags.StringVar(&copyTo, "copy-to", "", "folder to make for the copy of the data folder; beside it when empty")
	flags.BoolVar(&yes, "yes", false, "do it")
	return cmd
}

func (r recovered) table(w io.Writer) {
	fmt.Fprintf(w, "member\t%s\n", r.Name)
	fmt.Fprintf(w, "of the cluster\t%s\n", strings.Join(r.FormerMembers, ", "))
	fmt.Fprintf(w, "last entry\tindex %d of term %d\n", r.LastIndex, r.LastTerm)
	fmt.Fprintf(w, "keys\t%d\n", r.Keys)
	if r.Revision == 0 {
		fmt.Fprintf(w, "revision\t%d\n", r.FormerRevision)
		return
	}
	fmt.Fprintf(w, "revision\t%d (it was at %d)\n", r.Revision, r.FormerRevision)
	fmt.Fprintf(w, "now alone, at\t%s\n", r.RaftAddress)
	fmt.Fprintf(w, "copy of the folder\t%s\n", r.Copy)
	fmt.Fprintf(w, "next\tstart the member as before, without --initial-member and --join; then add others with `orrery members add`\n")
}
