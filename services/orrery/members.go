package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/store/operator"
)

// changeTimeout is for how long a change of the store's members may take.
const changeTimeout = 40 * time.Second

func membersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "members", GroupID: "tool", Short: "Look at the store's members and change them",
		Long: "Members shows who takes part in the store and changes it: grow it, replace a member that is gone, move the leadership, and, when a majority is gone for good, go on with one that is left. " +
			"Addresses and certificates are found in the data folder of the running cluster; --endpoints and --pki-dir name others.",
		Example: "  orrery members list\n  orrery members add store-1 10.0.0.2:2380\n  orrery members promote store-1\n  orrery members replace store-2 store-3=10.0.0.4:2380"}
	cmd.AddCommand(membersListCommand(), membersStatusCommand(), membersAddCommand(), membersPromoteCommand(), membersRemoveCommand(), membersReplaceCommand(),
		membersMoveLeaderCommand(), membersCheckCommand(), membersDefragmentCommand(), membersRecoverCommand())
	return cmd
}

func membersListCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "list", Short: "List the members, their roles, health and addresses", Args: cobra.NoArgs,
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, _ []string) error {
			return o.printMembers(cmd, op, "NAME\tROLE\tHEALTH\tLAG\tCLIENT ADDRESS\tRAFT ADDRESS", func(w io.Writer, m operator.Member) {
				lag := "-"
				if m.Status != nil {
					lag = fmt.Sprint(m.Status.Lag)
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, role(m), health(m), lag, orNone(m.ClientAddress), m.RaftAddress)
			})
		})}
	o.bind(cmd.Flags())
	return cmd
}

func membersStatusCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "status", Short: "Show how each member is: term, log, revision, sizes, alarms", Args: cobra.NoArgs,
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, _ []string) error {
			return o.printMembers(cmd, op, "NAME\tROLE\tHEALTH\tTERM\tINDEX\tAPPLIED\tLAG\tREVISION\tKEYS\tDATA\tQUOTA\tLOG\tALARMS\tVERSION", func(w io.Writer, m operator.Member) {
				s := m.Status
				if s == nil {
					fmt.Fprintf(w, "%s\t%s\t%s%s\n", m.Name, role(m), health(m), strings.Repeat("\t-", 11))
					return
				}
				var alarms []string
				for _, a := range s.Alarms {
					alarms = append(alarms, a.String())
				}
				log := size(s.LogFileBytes)
				if s.LogStore != "" {
					log += " (" + s.LogStore + ")"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", m.Name, role(m), health(m), s.Term, s.Index, s.Applied, s.Lag,
					s.Revision, s.Keys, size(s.SizeBytes), size(s.QuotaBytes), log, orNone(strings.Join(alarms, ",")), orNone(s.Version))
			})
		})}
	o.bind(cmd.Flags())
	return cmd
}

// printMembers writes a table of all members with what is wrong with some of them below it.
func (o *operatorOptions) printMembers(cmd *cobra.Command, op *operator.Operator, header string, row func(io.Writer, operator.Member)) error {
	members, err := op.Members(cmd.Context())
	if err != nil {
		return err
	}
	err = o.print(cmd.OutOrStdout(), map[string]any{"members": members}, func(w io.Writer) {
		fmt.Fprintln(w, header)
		for _, m := range members {
			row(w, m)
		}
	})
	if o.output == "table" {
		for _, m := range members {
			if m.Problem != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "\n%s: %s\n", m.Name, m.Problem)
			}
		}
	}
	return err
}

func role(m operator.Member) string {
	if m.Leader {
		return "leader"
	}
	return m.Role
}

func health(m operator.Member) string {
	switch {
	case m.Healthy:
		return "healthy"
	case m.Status == nil:
		return "down"
	}
	return "unhealthy"
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// change bounds a command that changes something and says what was done.
func (o *operatorOptions) change(cmd *cobra.Command, result any, text string, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), changeTimeout)
	defer cancel()
	if err := do(ctx); err != nil {
		return err
	}
	return o.print(cmd.OutOrStdout(), result, func(w io.Writer) { fmt.Fprintln(w, text) })
}
