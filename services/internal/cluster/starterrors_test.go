package cluster_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/internal/pki"
)

// A program that cannot start says what is in the way, and ends with 1.
func TestStartErrorsNameTheCause(t *testing.T) {
	program := binary(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	certificates := filepath.Join(dir, "pki")
	if _, err := pki.Ensure(certificates, pki.Options{}); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	for _, c := range []struct{ name, args, want string }{
		{"port taken", "up --runtime simulated --data-dir " + data + " --listen " + port, "--listen " + port + ": listen tcp " + port + ": bind: address already in use"},
		{"data folder not writable", "up --runtime simulated --listen 127.0.0.1:0 --data-dir " + filepath.Join(file, "data"), "--data-dir " + filepath.Join(file, "data") + " cannot be made"},
		{"wrong flag", "up --nods 2", "unknown flag: --nods"},
		{"wrong value", "up --nodes none", `invalid argument "none" for "--nodes" flag`},
		{"too few nodes", "up --nodes 0", "--nodes 0: want 1 to 5000"},
		{"unknown runtime", "up --runtime docker", `--runtime "docker": want auto, containerd or simulated`},
		{"unknown command", "upp", `unknown command "upp"`},
		{"api's port taken", "api --pki-dir " + certificates + " --listen " + port, "cannot listen on " + port},
		{"store's port taken", "store --pki-dir " + certificates + " --data-dir " + data + " --raft-listen 127.0.0.1:0 --listen " + port, "cannot listen for clients on " + port + ": the port is taken"},
		{"gateway's port taken", "gateway --pki-dir " + certificates + " --listen " + port, "cannot listen on " + port},
		{"no certificates", "api --pki-dir " + filepath.Join(dir, "nothing"), filepath.Join(dir, "nothing")},
		{"get without a cluster", "get --data-dir " + filepath.Join(dir, "nothing") + " /registry", "no cluster was ever started on the data folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := exec.Command(program, strings.Fields(c.args)...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("ended with %v, want exit code 1", err)
			}
			if _, said, ok := strings.Cut("\n"+string(out), "\norrery: "); !ok || !strings.Contains(said, c.want) {
				t.Errorf("it says %q, want %q in it", out, c.want)
			}
		})
	}
}
