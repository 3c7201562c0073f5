#!/usr/bin/env bash
# make bench: figures of one fresh cluster of simulated nodes, one line of JSON a phase. APILOAD names the folder of the load
# generator; N scales the work.
. "$(dirname "$0")/lib.sh"

APILOAD=${APILOAD:-../shared/bench/apiload}
[ -d "$APILOAD" ] || { echo "bench: no load generator in $APILOAD"; exit 1; }
N=${N:-10000}
DATA=$(mktemp -d)
trap 'stop "$DATA/up.pid" 30; rm -rf "$DATA"' EXIT
(cd "$APILOAD" && GOFLAGS=-mod=mod go build -o "$DATA/apiload" .)
setsid bin/orrery up --data-dir "$DATA/data" --kubeconfig "$DATA/kubeconfig" --runtime simulated --nodes "${NODES:-100}" --listen 127.0.0.1:0 ${UPFLAGS:-} >"$DATA/up.log" 2>&1 </dev/null &
echo $! >"$DATA/up.pid"
for _ in $(seq 1200); do
	grep -q 'orrery is ready' "$DATA/up.log" && break
	running "$DATA/up.pid" || { tail -20 "$DATA/up.log"; exit 1; }
	sleep 0.1
done
rss() { awk '/^VmRSS/ {printf "{\"mode\":\"memory\",\"at\":\"%s\",\"rss_mb\":%d}\n", at, $2/1024}' at="$1" "/proc/$(cat "$DATA/up.pid")/status"; }
load() { "$DATA/apiload" "$1" --kubeconfig "$DATA/kubeconfig" "${@:2}"; }
rss idle
load create --n "$N" --c 64
load create --n "$N" --c 64 --encoding protobuf
load list --n "$N" --repeat 10
load list --n "$N" --repeat 10 --encoding protobuf
load watch --watchers 200 --n 2000 --c 32
load update --n 2000 --c 64
load converge --deployments 10 --n 5000
rss "after converge"
