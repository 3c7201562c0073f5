package store

import (
	"os"
	"runtime/debug"
)

// gcPercent is how much garbage there may be for each byte in use. Almost all that a member holds is values, which the
// collector does not look into, so it can run four times as often as usual at little cost.
const gcPercent = 25

// TuneMemory sets up the garbage collector of a process that runs a member and nothing else: the state is in memory, and
// the usual settings would hold as much garbage again. GOGC in the environment wins.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
