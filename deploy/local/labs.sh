#!/usr/bin/env bash
# make labs: the hands-on labs of ../shared/labs with a real kubectl on real containers (RUNTIME=simulated: without). The images are
# pulled from a local registry that containerd uses as its mirror of docker.io. Its last line is the labs' own.
. "$(dirname "$0")/lib.sh"

labs=../shared/labs/run
[ -x "$labs" ] || { echo "labs: no $labs: the labs are not part of this repository"; exit 1; }
export RUNTIME=${RUNTIME:-containerd}
[ "$RUNTIME" = simulated ] || deploy/local/deps.sh

# A registry and data of its own: a cluster of `make up` is not disturbed.
DATA=$(mktemp -d)
trap 'stop "$DATA/registry.pid" 5; rm -rf "$DATA"' EXIT
address=$(serve_images)
UPFLAGS="--listen 127.0.0.1:0 --registry-mirror docker.io=http://$address ${UPFLAGS:-}" "$labs" "$@"
