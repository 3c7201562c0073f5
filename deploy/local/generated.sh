#!/usr/bin/env bash
# Fails when `make generate` would change a file.
. "$(dirname "$0")/lib.sh"
before=$(git status --porcelain)
make --no-print-directory generate
after=$(git status --porcelain)
if [ "$before" != "$after" ]; then
	echo "make generate changes files; run it and commit the result:"
	diff <(echo "$before") <(echo "$after") || true
	exit 1
fi
