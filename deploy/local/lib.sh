# Shared by the scripts of this folder: where things are and how the background cluster is found. Sourced from the root of the repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [ "$(id -u)" = 0 ]; then
	DATA=${DATA:-/var/lib/orrery}
else
	DATA=${DATA:-$HOME/.local/share/orrery}
fi
KUBECONFIG_FILE=${KUBECONFIG_FILE:-$DATA/kubeconfig}
LOG=$DATA/up.log
IMAGES=${IMAGES:-.build/images}

# running PIDFILE: whether the process named there lives and is one of ours
running() {
	[ -f "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null && grep -qaE 'orrery|images' "/proc/$(cat "$1")/cmdline" 2>/dev/null
}

# stop PIDFILE SECONDS: asks the process to end, and ends it when it does not
stop() {
	running "$1" || { rm -f "$1"; return 0; }
	local pid; pid=$(cat "$1")
	kill -TERM "$pid"
	for _ in $(seq $(($2 * 10))); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
	if kill -0 "$pid" 2>/dev/null; then
		echo "process $pid did not end within $2 s and is killed"
		kill -KILL "$pid"
	fi
	rm -f "$1"
}

# serve_images: starts the local registry with the images of IMAGES unless it runs, and prints its address
serve_images() {
	local pidfile=$DATA/registry.pid addressfile=$DATA/registry.address
	if ! running "$pidfile"; then
		mkdir -p "$DATA" .build/bin
		GOFLAGS=-mod=readonly go build -o .build/bin/images ./services/internal/images/cmd/images
		rm -f "$addressfile"
		setsid .build/bin/images serve --layouts "$IMAGES" --print-address >"$addressfile" 2>"$DATA/registry.log" </dev/null &
		echo $! >"$pidfile"
		for _ in $(seq 100); do [ -s "$addressfile" ] && break; sleep 0.1; done
		[ -s "$addressfile" ] || { cat "$DATA/registry.log" >&2; return 1; }
	fi
	cat "$addressfile"
}
