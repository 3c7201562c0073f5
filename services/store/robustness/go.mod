module github.com/orrery-io/orrery/services/store/robustness

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/orrery-io/orrery v0.0.0
	github.com/vishvananda/netlink v1.3.1
	github.com/vishvananda/netns v0.0.5
	golang.org/x/sys v0.49.0
)

require (
	github.com/hanwen/go-fuse/v2 v2.12.1
	go.etcd.io/bbolt v1.5.0
	golang.org/x/sync v0.25.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
)

replace github.com/orrery-io/orrery => ../../..
