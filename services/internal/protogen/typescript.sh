#!/bin/sh
# Generates a TypeScript client of the API into the folder $1, from the .proto files named after it (all without any).
# protoc-gen-es must be on PATH: npm install @bufbuild/protoc-gen-es, then PATH=node_modules/.bin:$PATH. The client is not
# committed; tests make it where they need it.
set -eu
if [ $# -lt 1 ] || ! command -v protoc-gen-es >/dev/null; then
	echo "usage: PATH=node_modules/.bin:\$PATH typescript.sh FOLDER [proto/orrery/core/v1/pod.proto ...] (needs npm's @bufbuild/protoc-gen-es)" >&2
	exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")/../../.."
. services/internal/protogen/stage.sh
for p in "$@"; do
	set -- "$@" --path "$p"
	shift
done
.build/bin/buf generate proto --include-imports "$@" --template \
	"{\"version\":\"v2\",\"plugins\":[{\"local\":\"protoc-gen-es\",\"out\":\"$out\",\"opt\":[\"target=ts\",\"import_extension=js\"]}]}"
