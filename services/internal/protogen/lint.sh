#!/bin/sh
# make lint: formatting, vet, static analysis, the API definition. Runs everything, then fails if anything did.
# BUF_AGAINST names the commit that the API definition must not break; by default the latest tag, else main.
set -eu
cd "$(dirname "$0")/../../.."
. services/internal/protogen/stage.sh
go build -C "$tools" -mod=readonly -o "$PWD/.build/bin/" \
	honnef.co/go/tools/cmd/staticcheck \
	github.com/kisielk/errcheck \
	github.com/gostaticanalysis/nilerr/cmd/nilerr

packages=${LINT_PACKAGES:-./services/...}
# Modules of tests alone.
modules=${LINT_MODULES-"services/store/bench services/store/etcd/etcdtest services/store/robustness services/internal/cluster/clients/ecosystem"}
failed=""
check() {
	name=$1
	shift
	echo "lint: $name"
	"$@" || failed="$failed $name"
}

formatted() {
	# grep is there because gofmt -l exits 0 whatever it finds.
	! gofmt -l services | grep .
}

# handled asks for every error to be handled but those of clean-ups (Close, Remove, Cancel, deferred calls), of a
# bare wait on a channel, and of lines that say //nolint:errcheck and why.
handled() {
	found=$(.build/bin/errcheck -ignoretests -exclude services/internal/protogen/errcheck.txt "$@" 2>&1 || true)
	! printf '%s\n' "$found" | grep -vE '//nolint:errcheck|:	(defer |case )?(<-|.*\b(Close|Remove|RemoveAll|Cancel|Rollback)\()|:	defer ' | grep .
}

# breaking compares with the definition of another commit, which has no staged google/api of its own.
breaking() {
	base=${BUF_AGAINST:-$(git describe --tags --abbrev=0 2>/dev/null || true)}
	for candidate in main origin/main; do
		[ -n "$base" ] || base=$(git rev-parse --verify --quiet "$candidate^{commit}" || true)
	done
	# On main itself, with no release yet, the change to judge is the last commit.
	if [ -n "$base" ] && [ "$(git rev-parse "$base^{commit}")" = "$(git rev-parse HEAD)" ] && git diff --quiet HEAD -- proto; then
		base=$(git rev-parse --verify --quiet HEAD^ || true)
	fi
	if [ -z "$base" ] || [ -z "$(git ls-tree "$base" buf.yaml)" ]; then
		echo "lint: no earlier API definition to compare with"
		return 0
	fi
	rm -rf .build/against
	mkdir -p .build/against/.build
	git archive "$base" proto buf.yaml | tar -x -C .build/against
	cp -R .build/googleapis .build/against/.build/
	.build/bin/buf breaking --against .build/against
}

check gofmt formatted
check "go vet" go vet $packages
for module in $modules; do
	check "go vet in $module" go vet -C "$module" ./...
done
# SA1019 complains of deprecated names, but Kubernetes' deprecated kinds and fields are served like all others.
check staticcheck .build/bin/staticcheck -checks inherit,-SA1019 $packages
check errcheck handled $packages
check nilerr .build/bin/nilerr $packages
check "buf lint" .build/bin/buf lint
check "buf breaking" breaking

if [ -n "$failed" ]; then
	echo "lint: failed:$failed" >&2
	exit 1
fi
echo "lint: clean"
