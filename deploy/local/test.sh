#!/usr/bin/env bash
# make test: all that CI runs. Each step is a line; a failing one ends the run.
. "$(dirname "$0")/lib.sh"

step() { printf '\n== %s\n' "$1"; shift; "$@"; }
export GOFLAGS=-mod=readonly
step "packages that the tests need" deploy/local/deps.sh --test
step "build" make --no-print-directory build images
step "lint" services/internal/protogen/lint.sh
step "generated files are up to date" deploy/local/generated.sh
# -p 1: one package at a time, since several start servers and containers on this machine.
step "tests with the race detector" env ORRERY_BIN="$PWD/bin/orrery" go test -race -p 2 -timeout 20m ./...
if [ -d services/internal/cluster/clients ]; then
	step "clients: client-go, controller-runtime, TypeScript" services/internal/cluster/clients/run.sh
fi
# Modules of their own, so that what they need stays out of the main go.mod.
step "store: the clients of etcd" services/store/etcd/etcdtest/run.sh
step "store: the benchmark runs" services/store/bench/run.sh --short
step "store: crash points and a faulty disk" env -C services/store/robustness go test -count=1 ./...
step "store: a short robustness run" services/store/robustness/run.sh
