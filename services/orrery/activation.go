package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// firstInherited is the first file descriptor that a parent passes on, by sd_listen_fds(3).
const firstInherited = 3

// inheritedListener is the listening socket that the parent passed on (socket activation), nil when it passed none.
func inheritedListener() (net.Listener, error) {
	n := os.Getenv("LISTEN_FDS")
	if n == "" {
		return nil, nil
	}
	if pid := os.Getenv("LISTEN_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return nil, nil // meant for another process
	}
	if n != "1" {
		return nil, fmt.Errorf("LISTEN_FDS=%s: the gateway takes one listening socket", n)
	}
	file := os.NewFile(firstInherited, "inherited listener")
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("the inherited file descriptor %d is no listening socket: %w", firstInherited, err)
	}
	return listener, nil
}

// listeningFile listens on an address and returns the socket as a file, to be passed on.
func listeningFile(address string) (*os.File, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", address, err)
	}
	defer listener.Close()
	return listener.(*net.TCPListener).File()
}
