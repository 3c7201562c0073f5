package procgroup

import (
	"fmt"
	"os"
)

// maxLog is the size from which a log is set aside, as <name>.log.1, when its process is started by a new supervisor.
const maxLog = 64 << 20

// openLog opens a log for appending. The child gets the file itself and writes to it without this process in between, so
// nothing of its last words is lost, whoever dies first.
func openLog(file string) (*os.File, error) {
	if info, err := os.Stat(file); err == nil && info.Size() > maxLog {
		if err := os.Rename(file, file+".1"); err != nil {
			return nil, fmt.Errorf("cannot set the old log aside: %w", err)
		}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log: %w", err)
	}
	return f, nil
}
