// Package cluster runs the members of a store as they run in earnest: the real binary, a process and a network namespace
// each, mTLS on both ports, a disk that can go wrong under each data folder.
//
// Its one idea is that nothing needs to be cleaned up. The run itself lives in namespaces of its own (package sandbox):
// bridge, firewall rules, mounts and processes vanish with it, however it ends.
//
// network.go has the bridge and the cuts in it, member.go one process, cluster.go all of them and the clients, membership.go
// their replacement.
package cluster
