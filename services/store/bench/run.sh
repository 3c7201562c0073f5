#!/bin/sh
# Builds the benchmark and runs it. All arguments go to it: --members 1,3 --runs 5 --short --cases put1,put64 --log-store wal -v
set -eu
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
"${GO:-go}" build -o "$bin/bench" .
"$bin/bench" "$@"
