package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const flagName = "config"

// Attach adds the flag --config to cmd and loads that file before cmd runs. Flags on the command line win over the file.
func Attach(cmd *cobra.Command) {
	cmd.Flags().String(flagName, "", "YAML file with values for these flags; the command line wins over it")
	next, nextPlain := cmd.PreRunE, cmd.PreRun
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		file, err := cmd.Flags().GetString(flagName)
		if err != nil {
			return err
		}
		if file != "" {
			if err := Load(cmd.Flags(), file); err != nil {
				return err
			}
		}
		if next != nil {
			return next(cmd, args)
		}
		if nextPlain != nil {
			nextPlain(cmd, args)
		}
		return nil
	}
}

// Load sets the flags that were not given on the command line from file. All mistakes of the file are reported together, each with file,
// line and key.
func Load(flags *pflag.FlagSet, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the --config file: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("%s: not valid YAML: %w", file, err)
	}
	if len(doc.Content) == 0 {
		return nil // an empty file
	}
	l := loader{flags: flags, file: file, seen: map[string]int{}}
	l.mapping(doc.Content[0], "")
	return errors.Join(l.errs...)
}

type loader struct {
	flags *pflag.FlagSet
	file  string
	seen  map[string]int
	errs  []error
}

func (l *loader) failf(n *yaml.Node, format string, args ...any) {
	l.errs = append(l.errs, fmt.Errorf("%s:%d: %s", l.file, n.Line, fmt.Sprintf(format, args...)))
}

func (l *loader) mapping(n *yaml.Node, prefix string) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		l.failf(n, "expected keys and values (%s: ...), found %s", l.example(), describe(n))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		l.entry(n.Content[i], n.Content[i+1], prefix+n.Content[i].Value)
	}
}

func (l *loader) entry(key, value *yaml.Node, name string) {
	flag := l.flags.Lookup(name)
	if name == flagName || name == "help" {
		flag = nil
	}
	if flag == nil {
		if value.Kind == yaml.MappingNode && l.hasPrefix(name+"-") {
			l.mapping(value, name+"-")
			return
		}
		hint := ""
		if near := l.nearest(name); near != "" {
			hint = fmt.Sprintf(" (did you mean %q?)", near)
		}
		l.failf(key, "unknown key %q%s; allowed keys: %s", name, hint, strings.Join(l.allowed(), ", "))
		return
	}
	if line, twice := l.seen[name]; twice {
		l.failf(key, "key %q was already set in line %d", name, line)
		return
	}
	l.seen[name] = key.Line
	if flag.Changed {
		return // given on the command line
	}
	if err := l.set(flag, value); err != nil {
		l.failf(value, "key %q: %v", name, err)
	}
}

func (l *loader) set(flag *pflag.Flag, value *yaml.Node) error {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch value.Kind {
	case yaml.ScalarNode:
		if value.Tag == "!!null" {
			return nil // "key:" alone keeps the default
		}
		if err := l.flags.Set(flag.Name, value.Value); err != nil {
			return fmt.Errorf("%q is not a valid %s: %w", value.Value, flag.Value.Type(), errors.Unwrap(err))
		}
		return nil
	case yaml.SequenceNode:
		list, ok := flag.Value.(pflag.SliceValue)
		if !ok {
			return fmt.Errorf("expected one %s, found a list", flag.Value.Type())
		}
		items := make([]string, 0, len(value.Content))
		for _, item := range value.Content {
			if item.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: expected a plain value in the list, found %s", item.Line, describe(item))
			}
			items = append(items, item.Value)
		}
		flag.Changed = true
		return list.Replace(items)
	case yaml.MappingNode:
		if !strings.HasPrefix(flag.Value.Type(), "stringTo") {
			return fmt.Errorf("expected one %s, found keys and values", flag.Value.Type())
		}
		for i := 0; i+1 < len(value.Content); i += 2 {
			if err := l.flags.Set(flag.Name, value.Content[i].Value+"="+value.Content[i+1].Value); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("found %s", describe(value))
}

func (l *loader) allowed() []string {
	var names []string
	l.flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != flagName && f.Name != "help" && !f.Hidden {
			names = append(names, f.Name)
		}
	})
	slices.Sort(names)
	return names
}

func (l *loader) example() string {
	if a := l.allowed(); len(a) > 0 {
		return a[0]
	}
	return "key"
}

func (l *loader) hasPrefix(prefix string) bool {
	return slices.ContainsFunc(l.allowed(), func(n string) bool { return strings.HasPrefix(n, prefix) })
}

// nearest is the allowed key that differs from name by the fewest edits, if by few.
func (l *loader) nearest(name string) string {
	best, bestDistance := "", 3
	if len(name) < 5 {
		bestDistance = 2
	}
	for _, candidate := range l.allowed() {
		if d := distance(strings.ToLower(name), candidate); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	return best
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.ScalarNode:
		return fmt.Sprintf("the value %q", n.Value)
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "keys and values"
	}
	return "something else"
}
