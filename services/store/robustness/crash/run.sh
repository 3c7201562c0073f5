#!/bin/sh
# The long form of the crash tests: all moments of a run, each operation on either side, hundreds of damages, for both kinds of
# log. Arguments are flags of go test: -run TestKilled, -crash.log-store wal, -crash.seed 7. Needs root and /dev/fuse.
set -eu
cd "$(dirname "$0")"
go test -count=1 ../faultfs/...
exec go test -count=1 -timeout 12h -v . -crash.all "$@"
