#!/usr/bin/env bash
# make up: a one-node cluster in the background. UPFLAGS are added to `orrery up`.
. "$(dirname "$0")/lib.sh"

command -v go >/dev/null || { echo "up: Go is not installed; see https://go.dev/doc/install"; exit 1; }
runtime=auto
if ! deploy/local/deps.sh; then
	echo "up: simulated containers are used: real ones need root and containerd"
	runtime=simulated
fi
make --no-print-directory build

if running "$DATA/up.pid"; then
	echo "A cluster is already running on $DATA."
else
	mkdir -p "$DATA"
	setsid bin/orrery up --data-dir "$DATA" --kubeconfig "$KUBECONFIG_FILE" --runtime "$runtime" ${UPFLAGS:-} >"$LOG" 2>&1 </dev/null &
	echo $! >"$DATA/up.pid"
	for _ in $(seq 900); do
		grep -q 'orrery is ready' "$LOG" && break
		running "$DATA/up.pid" || { echo "up: the cluster did not start:"; tail -20 "$LOG"; rm -f "$DATA/up.pid"; exit 1; }
		sleep 0.1
	done
	grep -q 'orrery is ready' "$LOG" || { echo "up: no node became Ready within 90 s; the log is $LOG"; tail -20 "$LOG"; exit 1; }
fi

cat <<EOF

The cluster is ready. Point kubectl at it:

  export KUBECONFIG=$KUBECONFIG_FILE
  bin/orrery kubectl get nodes        (or your own kubectl)

Its log is $LOG; \`make down\` stops it.
EOF
