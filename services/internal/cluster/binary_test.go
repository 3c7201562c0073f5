package cluster_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/pki"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

var (
	buildOnce sync.Once
	built     string
	errBuild  error
)

// binary is the orrery program: that of ORRERY_BIN, or one built once for all tests. Short runs go without.
func binary(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("ORRERY_BIN"); name != "" {
		return name
	}
	if testing.Short() {
		t.Skip("short: the orrery program is not built (set ORRERY_BIN to one)")
	}
	buildOnce.Do(func() {
		dir, err := os.MkdirTemp("", "orrery-bin-")
		if err != nil {
			errBuild = err
			return
		}
		built = filepath.Join(dir, "orrery")
		if out, err := exec.Command("go", "build", "-o", built, "github.com/orrery-io/orrery/services/orrery").CombinedOutput(); err != nil {
			errBuild = fmt.Errorf("building orrery: %w\n%s", err, out)
		}
	})
	if errBuild != nil {
		t.Fatal(errBuild)
	}
	return built
}

// processes is a cluster that `orrery up --multi-process` started, with simulated containers.
type processes struct {
	t   *testing.T
	dir string
	api string
}

func startProcesses(t *testing.T) *processes {
	t.Helper()
	p := &processes{t: t, dir: filepath.Join(t.TempDir(), "data")}
	cmd := exec.Command(binary(t), "up", "--multi-process", "--runtime", "simulated", "--data-dir", p.dir, "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		scanner := bufio.NewScanner(out)
		for scanner.Scan() {
			lines = append(lines, scanner.Text())
			if scanner.Text() == "orrery is ready" {
				close(ready)
			}
		}
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		if err := <-ended; err != nil {
			t.Errorf("orrery up ended with: %v", err)
		}
		if t.Failed() {
			t.Logf("orrery up said:\n%s", strings.Join(lines, "\n"))
			p.showLogs()
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("orrery up ended before it was ready: %v", err)
	case <-time.After(2 * time.Minute):
		t.Fatal("orrery up did not get ready")
	}
	data, err := os.ReadFile(filepath.Join(p.dir, "run", "ports.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ports struct{ API string }
	if err := json.Unmarshal(data, &ports); err != nil {
		t.Fatal(err)
	}
	p.api = ports.API
	return p
}

func (p *processes) showLogs() {
	files, _ := filepath.Glob(filepath.Join(p.dir, "logs", "*.log"))
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		p.t.Logf("%s:\n%s", filepath.Base(name), strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
}

func (p *processes) client() *apiclient.Client {
	p.t.Helper()
	tls, err := pki.Open(filepath.Join(p.dir, "pki")).ClientTLS(pki.Admin, "localhost")
	if err != nil {
		p.t.Fatal(err)
	}
	client, closeConn, err := apiclient.Dial(apiclient.Config{Addresses: []string{p.api}, TLS: tls, UserAgent: "test"})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = closeConn() })
	return client
}

// kill ends a service's process with SIGKILL; its supervisor starts it again.
func (p *processes) kill(service string) {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, "run", service+".pid"))
	if err != nil {
		p.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || pid < 2 {
		p.t.Fatalf("%s.pid holds %q", service, data)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		p.t.Fatalf("killing %s: %v", service, err)
	}
}
