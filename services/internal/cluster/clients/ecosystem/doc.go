// Package ecosystem holds the tests of clients that others wrote, and of the generated one, against a running cluster (see ../run.sh): they use
// nothing of Orrery but its wire.
package ecosystem
