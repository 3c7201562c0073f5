// Package crash proves that a store member that dies at any instruction starts again with everything that it acknowledged.
//
// Its one idea is that a crash is a moment between two operations on the disk. A member runs once, as a process of its
// own, on a faulty file system (package faultfs) that records its operations and, between them, what its clients were told.
// From that every moment can be made again: the folder as it was after operation N, with everything written (the process was
// killed), with only what was synced, or with torn pieces of the rest (the power failed). A member is started on
// each, and is asked for all that had been acknowledged by then.
//
// Its tests:
//
//   - TestEveryMoment does that with the moments of one recorded run.
//   - TestKilled kills a real process with SIGKILL on either side of an operation, the page cache kept or lost.
//   - TestKilledWhileRecovering kills it again while it starts after a crash.
//   - TestKilledWhileInstalling kills a member of three while it receives a snapshot.
//   - TestFailedSync lets a sync fail: what the member says after that must not rest on what the disk has lost.
//   - TestFullDisk takes the space away.
//   - TestSavedSnapshot and TestRestoredFolder crash while an operator saves a snapshot, and while one becomes a data folder.
//   - TestDamagedFiles flips bits, zeroes pages and cuts files: a member has all of its data or says which file is damaged.
//
// With -crash.all they take all moments instead of a sample; run.sh does that for both kinds of log.
//
// There is no code here but tests. workload_test.go is what the members are put through, expect_test.go what must be there
// afterwards, process_test.go and member_test.go the two sides of a member's process.
package crash
