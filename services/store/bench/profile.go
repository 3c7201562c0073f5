package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
)

// profile takes CPU profiles of this process and of every server until the function that it returns is called.
func (b *bench) profile(name string, turn int) (end func()) {
	if b.o.profiles == "" {
		return func() {}
	}
	if err := os.MkdirAll(b.o.profiles, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "bench: no profiles:", err)
		return func() {}
	}
	base := filepath.Join(b.o.profiles, fmt.Sprintf("%s-%s-%d", b.kind, name, turn))
	f, err := os.Create(base + "-client.pprof")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no profiles:", err)
		return func() {}
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		fmt.Fprintln(os.Stderr, "bench: no profile of the client:", err)
	}
	// The servers' profiles have a fixed length; a case runs for 6/5 of the given one.
	seconds := max(int(b.o.length.Seconds()), 1)
	var servers sync.WaitGroup
	for _, p := range b.cluster.members {
		servers.Go(func() {
			fetch(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.pprof, seconds), base+"-"+p.name+".pprof")
		})
	}
	return func() {
		pprof.StopCPUProfile()
		f.Close()
		servers.Wait()
	}
}

// heap takes a heap profile of the first server.
func (b *bench) heap(base string) {
	if err := os.MkdirAll(filepath.Dir(base), 0o755); err != nil {
		fmt.Fprintln(os.Stderr, "bench: no profile:", err)
		return
	}
	fetch(fmt.Sprintf("http://%s/debug/pprof/heap", b.cluster.members[0].pprof), base+"-heap.pprof")
}

func fetch(url, path string) {
	resp, err := http.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no profile:", err)
		return
	}
	defer resp.Body.Close()
	f, err := os.Create(path)
	if err == nil {
		_, err = io.Copy(f, resp.Body)
		f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no profile:", err)
	}
}
