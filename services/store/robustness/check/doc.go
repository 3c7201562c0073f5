// Package check judges the record of a round. It knows nothing of clusters and faults: a record goes in, violations of
// what the store promises come out.
//
// Its one idea is that revisions number all changes of the store, so that nearly everything can be checked without
// search, against the timeline of changes (history.Timeline):
//
//   - timeline.go: the changes follow from one another, and each was asked for by somebody;
//   - writes.go: no acknowledged write is lost, no refused one was made, comparisons were right;
//   - reads.go: what was read is what there was at that revision, on every member;
//   - realtime.go: revisions respect the order in which calls followed one another;
//   - watch.go: each guarantee of a watch as a function of that name;
//   - lease.go: no lease ended early.
//
// linearizable.go asks the same of each key from outside, by porcupine's search, without believing the timeline's
// revisions more than it must. round.go runs them all.
package check
