#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that a node needs, and with --test those of the tests; nothing when all are there.
set -euo pipefail

packages=(containerd runc containernetworking-plugins nftables iptables iproute2)
[ "${1:-}" = --test ] && packages+=(etcd-client gcc libc6-dev)

missing=()
for p in "${packages[@]}"; do
	dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
	echo "deps: not root, so these packages are not installed: ${missing[*]}" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	echo "deps: no apt-get here; install by hand: ${missing[*]}" >&2
	exit 1
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -q >/dev/null
# A private containerd runs for each node; the package's own service must not start beside it on a machine with an init.
printf '#!/bin/sh\nexit 101\n' >/tmp/policy-rc.d.$$ && chmod +x /tmp/policy-rc.d.$$
mine=
if [ ! -e /usr/sbin/policy-rc.d ]; then
	mv /tmp/policy-rc.d.$$ /usr/sbin/policy-rc.d && mine=1
fi
rm -f /tmp/policy-rc.d.$$
trap '[ -z "$mine" ] || rm -f /usr/sbin/policy-rc.d' EXIT
apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
