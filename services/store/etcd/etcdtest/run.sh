#!/bin/sh
# Runs the tests of etcd's clients against the store; arguments go to go test. etcdctl (Debian: etcd-client) must be there.
set -eu
cd "$(dirname "$0")"
command -v etcdctl >/dev/null || {
	echo "etcdctl is not installed: run 'make deps' (the package is etcd-client)" >&2
	exit 1
}
exec "${GO:-go}" test -count 1 -timeout 5m "$@" .
