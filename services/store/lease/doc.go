// Package lease counts the time of leases on the member that leads.
//
// That a lease exists is part of the replicated state; how long it still lives is not. The leader keeps a deadline for
// each lease, and when one passes it proposes the revocation like any other command. A new leader gives every lease its
// whole time again: a lease may live longer than it was granted for, never shorter.
package lease
