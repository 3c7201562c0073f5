#!/usr/bin/env bash
# Builds and starts the robustness run; arguments are its flags (--help shows them). Needs root, /dev/fuse and nftables.
set -euo pipefail
cd "$(dirname "$0")"
root=$(cd ../../.. && pwd)
go=${GO:-go}
mkdir -p "$root/.build"
GOFLAGS=-mod=readonly "$go" build -o "$root/.build/robustness" .
cd "$root"
exec .build/robustness "$@"
