// Command bench measures one Orrery store against one etcd 3.7.3, in the same run and under the same conditions: each member a process
// of its own with fsync on, data folders side by side on one disk, plaintext on loopback, each store driven through its own
// gRPC client (one client object for all callers), values of 1 KB. The watchers of watch100 alone have ten clients with ten different
// ranges each, so that each costs a watch of the store; those of watch100shared ask one client for the same.
//
// Its one idea is that only ratios taken in one run mean anything: the two take turns (A B, B A, A B, ...), each turn on fresh
// processes and fresh folders, and every figure is the median of the turns. A case prints one line of JSON:
//
//	{"name":"put64","members":1,"orrery_per_s":N,"etcd_per_s":N,"ratio":R,"orrery_p99_ms":N,"etcd_p99_ms":N}
//
// A ratio above 1 is in Orrery's favour in every line, rss (bytes that a server process holds) included.
//
// The program starts itself again for each member: main.go has the flags and the turns, serve.go what such a child does,
// cluster.go how the parent starts and ends children, target.go the two stores as the cases see them, cases.go the cases,
// report.go medians and lines. `run.sh` builds and runs it.
package main
