package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/store/operator"
)

// added is the answer of add and replace.
type added struct {
	Member      string `json:"member"`
	RaftAddress string `json:"raftAddress"`
	Removed     string `json:"removed,omitempty"`
	// Commands are what comes next: the first on the new member's machine, the second anywhere.
	Commands []string `json:"commands"`
}

func membersAddCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "add NAME HOST:PORT", Short: "Add a member as a learner, by the address of its Raft port", Args: cobra.ExactArgs(2),
		Long: "Add makes a member known to the store as a learner: it receives the log and has no vote. The command prints how to start it and how to give it its vote.",
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			name, address := args[0], args[1]
			if err := checkRaftAddress(address); err != nil {
				return err
			}
			members, err := op.Members(cmd.Context())
			if err != nil {
				return err
			}
			if err := checkNew(members, name, address); err != nil {
				return err
			}
			result := added{Member: name, RaftAddress: address, Commands: o.nextCommands(members, name, address)}
			return o.change(cmd, result, result.text(), func(ctx context.Context) error { return op.Add(ctx, name, address) })
		})}
	o.bind(cmd.Flags())
	return cmd
}

func membersReplaceCommand() *cobra.Command {
	o := &operatorOptions{}
	force := false
	cmd := &cobra.Command{Use: "replace OLD NEW=HOST:PORT", Short: "Remove a member that is gone for good and add a new one in its place", Args: cobra.ExactArgs(2),
		Long: "Replace removes a member that does not come back, adds a new one as a learner, and prints how to start it and how to give it its vote. The new one begins with an empty data folder.",
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			old := args[0]
			name, address, ok := strings.Cut(args[1], "=")
			if !ok {
				return fmt.Errorf("the new member %q: want NAME=HOST:PORT with the address of its Raft port", args[1])
			}
			if err := checkRaftAddress(address); err != nil {
				return err
			}
			members, err := op.Members(cmd.Context())
			if err != nil {
				return err
			}
			var rest []operator.Member
			var gone *operator.Member
			for i, m := range members {
				if m.Name == old {
					gone = &members[i]
				} else {
					rest = append(rest, m)
				}
			}
			switch {
			case gone == nil:
				return operator.NoMemberError(old, members)
			case gone.Status != nil && !force:
				return fmt.Errorf("member %q answers at %s and is not gone: to move it, add and promote the new member first and remove this one then; --force removes it at once", old, gone.ClientAddress)
			}
			if err := checkNew(rest, name, address); err != nil {
				return err
			}
			result := added{Member: name, RaftAddress: address, Removed: old, Commands: o.nextCommands(rest, name, address)}
			return o.change(cmd, result, result.text(), func(ctx context.Context) error {
				if err := op.Remove(ctx, old); err != nil {
					return err
				}
				if err := op.Add(ctx, name, address); err != nil {
					return fmt.Errorf("member %q is removed, but %q is not added: %w: try `orrery members add %s %s`", old, name, err, name, address)
				}
				return nil
			})
		})}
	o.bind(cmd.Flags())
	cmd.Flags().BoolVar(&force, "force", false, "also when the old member answers")
	return cmd
}

func membersPromoteCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "promote NAME", Short: "Give a learner its vote, once it has caught up", Args: cobra.ExactArgs(1),
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			return o.change(cmd, map[string]string{"member": args[0], "role": operator.RoleVoter}, fmt.Sprintf("member %q votes", args[0]),
				func(ctx context.Context) error { return op.Promote(ctx, args[0]) })
		})}
	o.bind(cmd.Flags())
	return cmd
}

func membersRemoveCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "remove NAME", Short: "Take a member out; its process ends, its data folder is of no use any more", Args: cobra.ExactArgs(1),
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			return o.change(cmd, map[string]string{"removed": args[0]}, fmt.Sprintf("member %q is removed: empty its data folder before it is added again", args[0]),
				func(ctx context.Context) error { return op.Remove(ctx, args[0]) })
		})}
	o.bind(cmd.Flags())
	return cmd
}

func membersMoveLeaderCommand() *cobra.Command {
	o := &operatorOptions{}
	cmd := &cobra.Command{Use: "move-leader [NAME]", Short: "Hand the leadership to a member, or to one that the leader chooses", Args: cobra.MaximumNArgs(1),
		RunE: o.withOperator(func(cmd *cobra.Command, op *operator.Operator, args []string) error {
			name := strings.Join(args, "")
			ctx, cancel := context.WithTimeout(cmd.Context(), changeTimeout)
			defer cancel()
			if err := op.MoveLeader(ctx, name); err != nil {
				return err
			}
			members, err := op.Members(ctx)
			if err != nil {
				return err
			}
			for _, m := range members {
				if m.Leader {
					name = m.Name
				}
			}
			return o.print(cmd.OutOrStdout(), map[string]string{"leader": name}, func(w io.Writer) { fmt.Fprintf(w, "member %q leads\n", name) })
		})}
	o.bind(cmd.Flags())
	return cmd
}

func checkRaftAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		var n int
		if n, err = strconv.Atoi(port); err == nil && (n < 1 || n > 65535) {
			err = errors.New("the port must be 1 to 65535")
		}
	}
	if err == nil && (host == "" || net.ParseIP(host).IsUnspecified()) {
		err = errors.New("the other members must be able to reach it there")
	}
	if err != nil {
		return fmt.Errorf("the Raft address %q: want HOST:PORT: %w", address, err)
	}
	return nil
}

// checkNew refuses a name or an address that a member has already.
func checkNew(members []operator.Member, name, address string) error {
	for _, m := range members {
		switch {
		case m.Name == name:
			return fmt.Errorf("the store has a member %q already, at %s: choose another name", name, m.RaftAddress)
		case m.RaftAddress == address:
			return fmt.Errorf("member %q is at %s already: give the new member's own address", m.Name, address)
		}
	}
	return nil
}

// nextCommands are what starts a new member and gives it its vote.
func (o *operatorOptions) nextCommands(members []operator.Member, name, raftAddress string) []string {
	host, raftPort, _ := net.SplitHostPort(raftAddress)
	clientPort, same := "2379", false
	for _, m := range members {
		h, p, err := net.SplitHostPort(m.ClientAddress)
		if err == nil {
			clientPort = p
			same = same || h == host
		}
	}
	if n, err := strconv.Atoi(raftPort); same && err == nil {
		clientPort = strconv.Itoa(n - 1) // several members on one machine need ports of their own
	}
	start := fmt.Sprintf("orrery store --name %s --join --listen %s --raft-listen %s", name, net.JoinHostPort(host, clientPort), raftAddress)
	promote := "orrery members promote " + name
	if len(o.endpoints) > 0 {
		promote += " --endpoints " + strings.Join(o.endpoints, ",")
	} else if o.dataDir != defaultDataDir() {
		promote += " --data-dir " + o.dataDir
	}
	if o.pkiDir != "" {
		start += " --pki-dir " + o.pkiDir
		promote += " --pki-dir " + o.pkiDir
	}
	return []string{start, promote}
}

func (a added) text() string {
	var b strings.Builder
	if a.Removed != "" {
		fmt.Fprintf(&b, "member %q is removed\n", a.Removed)
	}
	fmt.Fprintf(&b, "member %q is added as a learner\n\nstart it on its machine, with an empty data folder and ca.crt, store.crt and store.key of the cluster in --pki-dir:\n  %s\n", a.Member, a.Commands[0])
	fmt.Fprintf(&b, "then give it its vote:\n  %s", a.Commands[1])
	return b.String()
}
