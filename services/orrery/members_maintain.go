package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/store/operator"
)

func membersCheckCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "check", Short: "Compare the content of all members", Args: cobra.NoArgs,
		Long: "Check compares the content of all members at one log index. It fails when they differ; the store then also raises an alarm.",
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), changeTimeout)
			defer cancel()
			result, err := op.Check(ctx)
			if err != nil {
				return err
			}
			err = o.print(cmd.OutOrStdout(), result, func(w io.Writer) {
				fmt.Fprintln(w, "NAME\tHASH\tPROBLEM")
				for _, m := range result.Members {
					fmt.Fprintf(w, "%s\t%s\t%s\n", m.Name, orNone(m.Hash), orNone(m.Problem))
				}
			})
			if err == nil && !result.Consistent {
				err = fmt.Errorf("the members do not agree at revision %d, or some did not answer: see `orrery alarms list`; a member whose hash is alone is replaced with `orrery members replace`", result.Revision)
			}
			return err
		})}
	o.bind(cmd.Flags())
	return cmd
}

func membersDefragmentCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "defragment [NAME...]", Short: "Give space in the members' log files back to the file system",
		Long: "Defragment rewrites the log file of each member named, or of all, one after the other, followers first. A member is held up while it runs.",
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, names []string) error {
			members, err := op.Members(cmd.Context())
			if err != nil {
				return err
			}
			chosen, err := choose(members, names)
			if err != nil {
				return err
			}
			var done []operator.Defragmented
			var errs []error
			for _, m := range chosen {
				d, err := defragment(cmd.Context(), op, m)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				done = append(done, d)
			}
			err = o.print(cmd.OutOrStdout(), map[string]any{"members": done}, func(w io.Writer) {
				fmt.Fprintln(w, "NAME\tLOG BEFORE\tLOG AFTER")
				for _, d := range done {
					fmt.Fprintf(w, "%s\t%s\t%s\n", d.Name, size(d.BytesBefore), size(d.BytesAfter))
				}
			})
			return errors.Join(append(errs, err)...)
		})}
	o.bind(cmd.Flags())
	return cmd
}

func defragment(ctx context.Context, op *operator.Operator, m operator.Member) (operator.Defragmented, error) {
	if m.Status == nil {
		return operator.Defragmented{}, fmt.Errorf("member %q: %s", m.Name, m.Problem)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*changeTimeout)
	defer cancel()
	return op.Defragment(ctx, m)
}

// choose picks members by name, or all of them; the leader comes last.
func choose(members []operator.Member, names []string) (out []operator.Member, err error) {
	byName := map[string]bool{}
	for _, n := range names {
		byName[n] = true
	}
	var leader []operator.Member
	for _, m := range members {
		switch {
		case len(names) > 0 && !byName[m.Name]:
		case m.Leader:
			leader = append(leader, m)
		default:
			out = append(out, m)
		}
		delete(byName, m.Name)
	}
	for n := range byName {
		return nil, operator.NoMemberError(n, members)
	}
	return append(out, leader...), nil
}

func alarmsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "alarms", GroupID: "tool", Short: "List the store's alarms and clear them"}
	cmd.AddCommand(alarmsListCommand(), alarmsDisarmCommand())
	return cmd
}

func alarmsListCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "list", Short: "List the alarms that are raised", Args: cobra.NoArgs,
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), changeTimeout)
			defer cancel()
			alarms, err := op.Alarms(ctx)
			if err != nil {
				return err
			}
			if len(alarms) == 0 && o.output == "table" {
				fmt.Fprintln(cmd.OutOrStdout(), "no alarm is raised")
				return nil
			}
			return o.print(cmd.OutOrStdout(), map[string]any{"alarms": alarms}, func(w io.Writer) {
				fmt.Fprintln(w, "ALARM\tMEMBER\tWHAT TO DO")
				for _, a := range alarms {
					fmt.Fprintf(w, "%s\t%s\t%s\n", a.Kind, orNone(a.Member), alarmAdvice(a))
				}
			})
		})}
	o.bind(cmd.Flags())
	return cmd
}

func alarmAdvice(a operator.Alarm) string {
	switch a.Kind {
	case operator.AlarmNoSpace:
		return "delete what is not needed, `orrery compact`, or raise --quota-bytes; then `orrery alarms disarm NOSPACE`"
	case operator.AlarmCorrupt:
		return "`orrery members replace " + a.Member + " ...`, then `orrery alarms disarm CORRUPT`"
	}
	return "-"
}

func alarmsDisarmCommand() *cobra.Command {
	o := &operatorOptions{}
	member := ""
	cmd := &cobra.Command{Use: "disarm KIND", Short: "Clear an alarm, NOSPACE or CORRUPT; it comes back when its cause is still there", Args: cobra.ExactArgs(1),
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			a := operator.Alarm{Kind: strings.ToUpper(args[0]), Member: member}
			return o.change(cmd, map[string]any{"disarmed": a}, "alarm "+a.String()+" is disarmed", func(ctx context.Context) error { return op.Disarm(ctx, a) })
		})}
	o.bind(cmd.Flags())
	cmd.Flags().StringVar(&member, "member", "", "the member that the alarm is about; all of them when empty")
	return cmd
}

func compactCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "compact [REVISION]", GroupID: "tool", Short: "Forget the store's history before a revision, or all of it", Args: cobra.MaximumNArgs(1),
		Long: "Compact forgets the history before a revision, by default before the newest one, and frees its space. The store does this by itself, by age and size; this is for a store that is full. " +
			"Watches that are behind the revision end and list again.",
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			var revision int64
			if len(args) > 0 {
				var err error
				if revision, err = strconv.ParseInt(args[0], 10, 64); err != nil || revision < 1 {
					return fmt.Errorf("revision %q: want a number above 0", args[0])
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), changeTimeout)
			defer cancel()
			revision, err := op.Compact(ctx, revision)
			if err != nil {
				return err
			}
			return o.print(cmd.OutOrStdout(), map[string]int64{"compactRevision": revision}, func(w io.Writer) { fmt.Fprintf(w, "compacted at revision %d\n", revision) })
		})}
	o.bind(cmd.Flags())
	return cmd
}
