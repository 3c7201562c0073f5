#!/bin/sh
# make generate: the API definition from the Go types, then gen/ from the definition. Running it twice changes nothing.
set -eu
cd "$(dirname "$0")/../../.."
. services/internal/protogen/stage.sh

go run ./services/internal/protogen/cmd/protogen

# Into a fresh folder first: a failed run leaves gen/ as it was. Then files that differ move over, and files of messages
# that are gone are removed.
rm -rf .build/gen
.build/bin/buf generate --output .build/gen
new=.build/gen/gen/go
(cd "$new" && find . -type f) | while read -r f; do
	cmp -s "$new/$f" "gen/go/$f" && continue
	mkdir -p "gen/go/$(dirname "$f")"
	mv "$new/$f" "gen/go/$f.new"
	mv "gen/go/$f.new" "gen/go/$f"
	touch "$new/$f"
done
(cd gen/go && find . -type f) | while read -r f; do
	[ -e "$new/$f" ] || rm "gen/go/$f"
done
find gen/go -type d -empty -delete
rm -rf .build/gen
