package cluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/internal/cluster"
)

// kubectl is one kubectl program that talks to a cluster in a namespace of its own.
type kubectl struct {
	command   []string
	env       []string
	namespace string
}

// step is one command line and what it must answer.
type step struct {
	args, stdin string
	// code is the exit code.
	code int
	// want are regular expressions, each to be found in what it prints, lines apart (?m).
	want []string
	env  []string
}

// The distribution's kubectl, where there is one, and the linked one do the same against the same cluster.
func TestKubectl(t *testing.T) {
	programs := map[string][]string{"linked": {binary(t), "kubectl"}}
	if found, err := exec.LookPath("kubectl"); err == nil {
		programs["installed"] = []string{found}
	}
	c := cluster.Start(t, cluster.Options{Nodes: 2})
	for name, command := range programs {
		t.Run(name, func(t *testing.T) {
			k := &kubectl{command: command, namespace: "kubectl-" + name, env: append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "HOME="+t.TempDir())}
			for _, s := range kubectlSteps {
				k.step(t, s)
			}
			k.everyKind(t)
			k.watch(t)
			for _, s := range kubectlLastSteps {
				k.step(t, s)
			}
		})
	}
}

func (k *kubectl) cmd(ctx context.Context, args []string) *exec.Cmd {
	all := append(append([]string{}, k.command[1:]...), "--namespace", k.namespace)
	return exec.CommandContext(ctx, k.command[0], append(all, args...)...)
}

// run returns what the command printed on both outputs, and its exit code.
func (k *kubectl) run(t *testing.T, s step) (output string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := k.cmd(ctx, fields(s.args))
	cmd.Env = append(k.env, s.env...)
	cmd.Stdin = strings.NewReader(s.stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("kubectl %s: %v", s.args, err)
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (k *kubectl) step(t *testing.T, s step) {
	t.Helper()
	s.args = strings.ReplaceAll(s.args, "NAMESPACE", k.namespace)
	output, code := k.run(t, s)
	if code != s.code {
		t.Errorf("kubectl %s: exit code %d, want %d:\n%s", s.args, code, s.code, head(output))
		return
	}
	for _, want := range s.want {
		want = strings.ReplaceAll(want, "NAMESPACE", k.namespace)
		if !regexp.MustCompile("(?m)" + want).MatchString(output) {
			t.Errorf("kubectl %s: no %q in:\n%s", s.args, want, head(output))
		}
	}
}

// everyKind gets the objects of all kinds that the server says can be listed.
func (k *kubectl) everyKind(t *testing.T) {
	t.Helper()
	names, code := k.run(t, step{args: "api-resources --verbs=list -o name"})
	kinds := strings.Fields(names)
	if code != 0 || len(kinds) < 40 {
		t.Errorf("api-resources: exit code %d and %d kinds:\n%s", code, len(kinds), names)
		return
	}
	k.step(t, step{args: "get --all-namespaces --ignore-not-found " + strings.Join(kinds, ","), want: []string{`pod/web-`, `\S*configmap/kube-root-ca.crt`, `clusterrole.rbac.authorization.k8s.io/cluster-admin`}})
}

// watch follows a Deployment while it is scaled.
func (k *kubectl) watch(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := k.cmd(ctx, fields("get deployment web --watch --output-watch-events"))
	cmd.Env = k.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	await := func(want string) bool {
		expr := regexp.MustCompile(want)
		for lines.Scan() {
			if expr.MatchString(lines.Text()) {
				return true
			}
		}
		t.Errorf("get --watch ended without a line like %q", want)
		return false
	}
	if await(`^ADDED\s+web\s`) {
		k.step(t, step{args: "scale deployment web --replicas=4", want: []string{"^deployment.apps/web scaled$"}})
		await(`^MODIFIED\s+web\s+4/4\s+4\s+4\s`)
	}
}

// fields splits a command line at spaces; what is between single quotes stays together.
func fields(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		out = append(out, strings.Fields(part)...)
	}
	return out
}

// head is the first lines of what a program printed.
func head(output string) string {
	lines := strings.Split(output, "\n")
	return strings.Join(lines[:min(len(lines), 60)], "\n")
}
