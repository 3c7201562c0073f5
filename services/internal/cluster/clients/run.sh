#!/usr/bin/env bash
# Runs the ecosystem's own clients against a cluster of simulated nodes: client-go and controller-runtime through the gateway, generated Go
# and TypeScript clients through gRPC. Each is a test module of its own, so that what it needs stays out of the main go.mod.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
work=$(mktemp -d)
up=
trap '[ -z "$up" ] || { kill -TERM "$up" 2>/dev/null; wait "$up" 2>/dev/null || true; }; rm -rf "$work"' EXIT

"$root/bin/orrery" up --data-dir "$work/data" --kubeconfig "$work/kubeconfig" --runtime simulated --listen 127.0.0.1:0 >"$work/up.log" 2>&1 &
up=$!
for _ in $(seq 600); do
	grep -q 'orrery is ready' "$work/up.log" && break
	kill -0 "$up" 2>/dev/null || { tail -20 "$work/up.log"; exit 1; }
	sleep 0.1
done
grep -q 'orrery is ready' "$work/up.log" || { tail -20 "$work/up.log"; exit 1; }

export KUBECONFIG=$work/kubeconfig
export ORRERY_PKI=$work/data/pki
export ORRERY_API=$(sed -n 's/.*"api": "\(.*\)".*/\1/p' "$work/data/run/ports.json")

"$root/bin/orrery" kubectl create deployment web --image=nginx:1.27 --replicas=3
"$root/bin/orrery" kubectl wait --for=condition=Available deployment/web --timeout=60s

(cd "$here/ecosystem" && go test -count=1 ./...)

cd "$here/typescript"
npm ci --no-audit --no-fund --silent
rm -rf gen
PATH=$PWD/node_modules/.bin:$PATH "$root/services/internal/protogen/typescript.sh" gen proto/orrery/core/v1 proto/orrery/meta/v1
npx tsc --noEmit
npm test
