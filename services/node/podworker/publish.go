package podworker

import (
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/status"
)

const (
	// maxMessage bounds what a container may say of its end.
	maxMessage = 4096
	// maxLogMessage bounds what is taken from its log in place of that, in bytes and in lines.
	maxLogMessage      = 2048
	maxLogMessageLines = 80
)

// publish computes the status and hands it to the writer. terminal says that the pod has ended.
func (t *turn) publish(terminal bool) {
	t.m.deps.Probes.Sync(t.pod, t.state, t.podIP())
	pod := t.m.deps.Status.Latest(t.pod)
	in := status.Input{Pod: pod, State: t.state, Waiting: t.waiting, Probes: t.m.deps.Probes, HostIPs: t.m.deps.Host.NodeIPs, Terminal: terminal, Failure: t.failure,
		Message: t.message, Now: t.m.deps.Clock.Now()}
	t.m.deps.Status.Set(t.ctx, pod, status.Generate(in))
}

// message reads what an ended container left at its terminationMessagePath or, by its policy, the end of its log.
func (t *turn) message(c *podstate.Container) string {
	if t.m.deps.Host.Dir == "" {
		return ""
	}
	data, err := tail(t.messageFile(c), maxMessage)
	if err != nil || len(data) > 0 {
		return data
	}
	if c.Annotations[cri.AnnotationMessagePolicy] != string(corev1.TerminationMessageFallbackToLogsOnError) || c.ExitCode == 0 || c.LogPath == "" {
		return ""
	}
	raw, err := tail(c.LogPath, 4*maxLogMessage)
	if err != nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(raw) {
		// TIME STREAM TAG TEXT; the first line may be cut off.
		if parts := strings.SplitN(line, " ", 4); len(parts) == 4 {
			if _, err := time.Parse(time.RFC3339Nano, parts[0]); err == nil {
				lines = append(lines, parts[3])
			}
		}
	}
	text := strings.Join(lines[max(0, len(lines)-maxLogMessageLines):], "")
	return text[max(0, len(text)-maxLogMessage):]
}

// tail reads the last bytes of a file; a file that is not there is empty.
func tail(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if _, err := f.Seek(max(0, info.Size()-limit), io.SeekStart); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return string(data), err
}
