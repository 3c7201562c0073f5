# Orrery's tasks; `make help` lists them. Each is a line or two here, or a script in deploy/local.
SHELL := /bin/bash
GO ?= go
BIN := bin/orrery
IMAGES := .build/images
export GOFLAGS := -mod=readonly

.DEFAULT_GOAL := help

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/orrery
	@mkdir -p bin
	$(GO) build -o $(BIN) ./services/orrery

.PHONY: up
up: ## install what is missing, build, start a one-node cluster in the background
	@deploy/local/up.sh

.PHONY: demo
demo: ## up, then a Deployment of three web servers
	@deploy/local/demo.sh

.PHONY: down
down: ## stop the cluster and everything it started
	@deploy/local/down.sh

.PHONY: deps
deps: ## install the distribution's packages that a node and the tests need
	@deploy/local/deps.sh $(DEPS)

.PHONY: generate
generate: ## write proto/, gen/ and other generated files anew
	services/internal/protogen/generate.sh
	services/api/schema/openapigen/generate.sh

.PHONY: lint
lint: ## check formatting, vet, static analysis, the API definition
	services/internal/protogen/lint.sh

.PHONY: images
images: build ## build OCI images from the distribution's packages: pause, busybox, nginx, orrery
	$(GO) run ./services/internal/images/cmd/images build --out $(IMAGES) --orrery $(BIN)

.PHONY: test
test: ## run all that CI runs
	@deploy/local/test.sh

.PHONY: labs
labs: build images ## run the hands-on labs on real containers: LABS="heal roll", RUNTIME=simulated
	@deploy/local/labs.sh $(LABS)

.PHONY: bench
bench: build ## measure create, list, watch, update, converge against a fresh cluster
	@deploy/local/bench.sh

.PHONY: bench-store
bench-store: ## measure one store and etcd in turn, a JSON line a case: BENCHFLAGS="--members 3"
	@services/store/bench/run.sh $(BENCHFLAGS)

.PHONY: test-robustness
test-robustness: build ## break a cluster of stores in every way and check its history: ROBUSTFLAGS="--faults 300"
	@services/store/robustness/run.sh $(ROBUSTFLAGS)
