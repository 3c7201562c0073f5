package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// ports are the addresses of a cluster's inner services. They are chosen once for a data folder and kept, so that a restarted service is found
// where it was.
type ports struct {
	Store string `json:"store"`
	Raft  string `json:"raft"`
	API   string `json:"api"`
	// Gateway is where kubectl finds the cluster.
	Gateway string `json:"gateway"`
}

func runDir(dataDir string) string { return filepath.Join(dataDir, "run") }

func portsFile(dataDir string) string { return filepath.Join(runDir(dataDir), "ports.json") }

// readPorts finds the running cluster of a data folder.
func readPorts(dataDir string) (ports, error) {
	var p ports
	data, err := os.ReadFile(portsFile(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("no cluster was ever started on the data folder %s: give the one that `orrery up` uses with --data-dir", dataDir)
	}
	if err != nil {
		return p, fmt.Errorf("reading the cluster's addresses: %w", err)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%s is damaged (%w): delete it and start the cluster again", portsFile(dataDir), err)
	}
	return p, nil
}

// ensurePorts keeps the addresses of the last run where they are free, and picks free ones otherwise. gateway is the address that the user asked for; only when its port
// is 0 one is picked.
func ensurePorts(dataDir, gateway string) (ports, error) {
	p, err := readPorts(dataDir)
	if err != nil {
		p = ports{}
	}
	// All listeners stay open until the last is chosen, so that none is chosen twice.
	var open []net.Listener
	defer func() {
		for _, l := range open {
			_ = l.Close()
		}
	}()
	host, port, err := net.SplitHostPort(gateway)
	if err != nil {
		return p, fmt.Errorf("--listen %q: want host:port: %w", gateway, err)
	}
	wanted := []*string{&p.Store, &p.Raft, &p.API}
	if port != "0" {
		l, err := net.Listen("tcp", gateway)
		if err != nil {
			return p, fmt.Errorf("--listen %s: %w: another cluster or Kubernetes runs here; give another port, or port 0 to have one picked", gateway, err)
		}
		open = append(open, l)
		p.Gateway = gateway
	} else {
		if kept, _, err := net.SplitHostPort(p.Gateway); err != nil || kept != host {
			p.Gateway = ""
		}
		wanted = append(wanted, &p.Gateway)
	}
	for _, address := range wanted {
		on := "127.0.0.1"
		if address == &p.Gateway {
			on = host
		}
		l, err := listenAt(*address, on)
		if err != nil {
			return p, fmt.Errorf("no free port on %s: %w", on, err)
		}
		open = append(open, l)
		*address = l.Addr().String()
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return p, err
	}
	if err := os.WriteFile(portsFile(dataDir), append(data, '\n'), 0o644); err != nil {
		return p, fmt.Errorf("noting the cluster's addresses: %w", err)
	}
	return p, nil
}

func listenAt(address, host string) (net.Listener, error) {
	if address != "" {
		if l, err := net.Listen("tcp", address); err == nil {
			return l, nil
		}
	}
	// Below the range that outgoing connections take their ports from: one chosen now is still free when its service starts.
	for range 200 {
		if l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(20000+rand.IntN(12000)))); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}
