#!/bin/sh
# Builds the pinned tools into .build/bin and stages google/api and google/rpc below .build/googleapis. Sourced by
# generate.sh and lint.sh, from the root of the repository. Tools live in modules of their own, so that what they
# need never enters the main go.mod; buf is apart from the plugins, because it asks for another protobuf runtime.
# The first run builds buf, which takes some minutes; later runs find it in Go's build cache.
set -eu

tools=services/internal/protogen/tools
mkdir -p .build/bin
go build -C "$tools" -mod=readonly -o "$PWD/.build/bin/" \
	google.golang.org/protobuf/cmd/protoc-gen-go \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc \
	github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway
go build -C "$tools/buf" -mod=readonly -o "$PWD/.build/bin/" github.com/bufbuild/buf/cmd/buf

# The last grpc-gateway v1 ships Google's HTTP annotations as .proto files.
protos=$(cd "$tools" && go mod download -json github.com/grpc-ecosystem/grpc-gateway@v1.16.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
if [ -z "$protos" ]; then
	echo "stage.sh: cannot download github.com/grpc-ecosystem/grpc-gateway@v1.16.0, which ships google/api/*.proto; is the Go module proxy reachable?" >&2
	exit 1
fi
rm -rf .build/googleapis
mkdir -p .build/googleapis/google/api .build/googleapis/google/rpc
cp "$protos"/third_party/googleapis/google/api/*.proto .build/googleapis/google/api/
cp "$protos"/third_party/googleapis/google/rpc/*.proto .build/googleapis/google/rpc/
chmod -R u+w .build/googleapis
