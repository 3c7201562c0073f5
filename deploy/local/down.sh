#!/usr/bin/env bash
# make down: stops the cluster of `make up` and the registry of `make demo`. The data stays; PURGE=1 deletes it, too.
. "$(dirname "$0")/lib.sh"

stop "$DATA/up.pid" 90
stop "$DATA/registry.pid" 10
rm -f "$DATA/registry.address"
if [ -n "${PURGE:-}" ]; then
	rm -rf "$DATA"
	echo "The cluster is stopped and its data in $DATA deleted."
else
	echo "The cluster is stopped. Its data is in $DATA; PURGE=1 make down deletes it."
fi
