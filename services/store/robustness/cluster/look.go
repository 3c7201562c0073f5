package cluster

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// crashes are the beginnings of lines by which a Go program says that it broke down.
var crashes = []string{"panic:", "fatal error:", "unexpected fault address", "WARNING: DATA RACE", "SIGSEGV", "SIGBUS"}

// Surprises are what happened to processes that nobody did to them, since the last call: ends, and breakdowns in the log.
func (c *Cluster) Surprises() (out []string) {
	for _, m := range c.Members {
		m.mu.Lock()
		out = append(out, m.surprises...)
		m.surprises = nil
		m.mu.Unlock()
		out = append(out, m.look()...)
	}
	return out
}

// look reads what is new in the log.
func (m *Member) look() (out []string) {
	f, err := os.Open(m.logPath)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(m.scanned, io.SeekStart); err != nil {
		return nil
	}
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return out // the rest is looked at when its line is whole
		}
		m.scanned += int64(len(line))
		for _, c := range crashes {
			if strings.HasPrefix(line, c) {
				out = append(out, fmt.Sprintf("%s broke down: %s", m.Name, strings.TrimSpace(line)))
				break
			}
		}
	}
}

// lastLine is the end of a file, for messages.
func lastLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	data = bytes.TrimSpace(data)
	return string(data[bytes.LastIndexByte(data, '\n')+1:])
}

// Dump writes what every member's goroutines are doing into dir.
func (c *Cluster) Dump(dir string) {
	http := http.Client{Timeout: 3 * time.Second}
	for _, m := range c.Members {
		resp, err := http.Get("http://" + m.Address + ":" + metricsPort + "/debug/pprof/goroutine?debug=2")
		if err != nil {
			continue
		}
		if f, err := os.Create(filepath.Join(dir, m.Name+".goroutines")); err == nil {
			_, _ = io.Copy(f, resp.Body)
			_ = f.Close()
		}
		_ = resp.Body.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if f, err := os.Create(filepath.Join(dir, "status.txt")); err == nil {
		for _, m := range c.Members {
			s, err := m.Status(ctx)
			fmt.Fprintf(f, "%s running=%v err=%v %v\n", m.Name, m.Running(), err, s)
		}
		_ = f.Close()
	}
}
