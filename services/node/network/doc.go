// Package network chooses a node's addresses: its pod network, the bridge that carries it, and its own address.
//
// One idea: several nodes and clusters share a machine, so every name is derived from the node's data folder and every network is checked
// against the machine's routes.
package network
