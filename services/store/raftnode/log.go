package raftnode

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// raftLogger passes what the Raft library logs on to slog, one level lower: elections and replication are its daily
// business, and what matters to an operator is logged by this package.
type raftLogger struct {
	hclog.Logger // for what is not overridden: a null logger
	to           *slog.Logger
}

func newRaftLogger(to *slog.Logger) hclog.Logger {
	return &raftLogger{Logger: hclog.NewNullLogger(), to: to.With("component", "raft")}
}

var levels = map[hclog.Level]slog.Level{
	hclog.Info: slog.LevelDebug, hclog.Warn: slog.LevelInfo, hclog.Error: slog.LevelWarn,
}

func (l *raftLogger) Log(level hclog.Level, msg string, args ...any) {
	to, ok := levels[level]
	if !ok {
		to = slog.LevelDebug - 4
	}
	l.to.Log(context.Background(), to, msg, args...)
}

func (l *raftLogger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }
func (l *raftLogger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }
func (l *raftLogger) Info(msg string, args ...any)  { l.Log(hclog.Info, msg, args...) }
func (l *raftLogger) Warn(msg string, args ...any)  { l.Log(hclog.Warn, msg, args...) }
func (l *raftLogger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }
func (l *raftLogger) IsTrace() bool                 { return false }
func (l *raftLogger) IsDebug() bool                 { return false }
func (l *raftLogger) IsInfo() bool                  { return true }
func (l *raftLogger) IsWarn() bool                  { return true }
func (l *raftLogger) IsError() bool                 { return true }

func (l *raftLogger) With(args ...any) hclog.Logger {
	return &raftLogger{Logger: l.Logger, to: l.to.With(args...)}
}
func (l *raftLogger) Named(string) hclog.Logger      { return l }
func (l *raftLogger) ResetNamed(string) hclog.Logger { return l }
