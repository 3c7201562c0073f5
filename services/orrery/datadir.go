package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// lockDataDir makes the data folder and keeps a second cluster off it.
func lockDataDir(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(runDir(dir), 0o755); err != nil {
		return nil, fmt.Errorf("--data-dir %s cannot be made: %w: give a folder that you may write to", dir, err)
	}
	name := filepath.Join(runDir(dir), "lock")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("--data-dir %s is not writable: %w: give a folder that you may write to", dir, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("--data-dir %s is in use by a running cluster: stop it, or give another folder", dir)
		}
		return nil, fmt.Errorf("locking %s: %w", name, err)
	}
	return func() { _ = file.Close() }, nil
}

// reachable is the address by which this machine reaches a listener: one that listens everywhere is at home.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}
