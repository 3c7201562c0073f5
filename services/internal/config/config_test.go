package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

type values struct {
	listen, cert string
	store        []string
	labels       map[string]string
	count        int
	wait         time.Duration
	verbose      bool
}

func run(t *testing.T, yaml string, args ...string) (values, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "api.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	var v values
	cmd := &cobra.Command{Use: "api", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
	f := cmd.Flags()
	f.StringVar(&v.listen, "listen", "default", "")
	f.StringVar(&v.cert, "tls-cert", "", "")
	f.StringSliceVar(&v.store, "store", nil, "")
	f.StringToStringVar(&v.labels, "labels", nil, "")
	f.IntVar(&v.count, "count", 1, "")
	f.DurationVar(&v.wait, "wait", 0, "")
	f.BoolVar(&v.verbose, "verbose", false, "")
	Attach(cmd)
	cmd.SetArgs(append([]string{"--config", file}, args...))
	err := cmd.Execute()
	return v, err
}

func TestLoad(t *testing.T) {
	v, err := run(t, "listen: file\nstore: [a, 'b,c']\nlabels: {x: y}\ncount: 7\nwait: 3s\nverbose: true\ntls:\n  cert: c.crt\n", "--count=9", "--store=z")
	if err != nil {
		t.Fatal(err)
	}
	want := values{listen: "file", cert: "c.crt", store: []string{"z"}, labels: map[string]string{"x": "y"}, count: 9, wait: 3 * time.Second, verbose: true}
	if !reflect.DeepEqual(v, want) {
		t.Errorf("got  %+v\nwant %+v", v, want)
	}
	v, err = run(t, "store: [a, 'b,c']\nlisten:\n")
	if err != nil || !reflect.DeepEqual(v.store, []string{"a", "b,c"}) || v.listen != "default" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err = run(t, "# nothing\n"); err != nil {
		t.Error(err)
	}
}

func TestLoadErrorsSayWhereAndWhatIsAllowed(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"unknown":     {"count: 1\nlisten: a\nlisen: b\n", []string{`api.yaml:3: unknown key "lisen" (did you mean "listen"?)`, "allowed keys: count, labels, listen"}},
		"bad value":   {"\ncount: many\n", []string{`api.yaml:2: key "count": "many" is not a valid int`}},
		"list":        {"listen: [a]\n", []string{`key "listen": expected one string, found a list`}},
		"twice":       {"listen: a\nlisten: b\n", []string{"api.yaml", "already"}},
		"not a map":   {"- a\n", []string{"expected keys and values"}},
		"not yaml":    {"a: [\n", []string{"not valid YAML"}},
		"config":      {"config: other.yaml\n", []string{`unknown key "config"`}},
		"all at once": {"x: 1\ny: 2\n", []string{`"x"`, `"y"`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, tc.yaml)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q is missing in: %v", w, err)
				}
			}
		})
	}
	cmd := &cobra.Command{Use: "api"}
	if err := Load(cmd.Flags(), "/does/not/exist"); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Error(err)
	}
}
