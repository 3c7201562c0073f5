package cluster

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// logs is the file that all services of a cluster log into.
type logs struct {
	name   string
	file   *os.File
	logger *slog.Logger
}

func openLogs(name string) (*logs, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("opening the services' log: %w", err)
	}
	handler := slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelInfo})
	return &logs{name: name, file: file, logger: slog.New(telemetry.LogHandler(handler))}, nil
}

// tail is the last lines.
func (l *logs) tail(lines int) []byte {
	data, err := os.ReadFile(l.name)
	if err != nil {
		return []byte(err.Error())
	}
	all := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}

func (l *logs) close() { _ = l.file.Close() }
