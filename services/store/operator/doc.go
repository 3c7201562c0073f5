// Package operator is what an operator does to a store from outside: look at its members, change them, save and load
// snapshots, clear alarms.
//
// Its one idea: it talks to each member by itself. The client of package client hides the members from its callers, and
// leaves out the ones that are not well; here those are the ones that matter. A member that does not answer is a row
// with the reason in it, never a failure of the whole, and no member is waited for longer than Config.Timeout.
//
// Every error names the member, the cause and the next step; advice.go is the table of next steps. survey.go looks at all
// members, change.go changes them, content.go moves their content.
package operator
