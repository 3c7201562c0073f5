// Package archtest holds the tests that keep the repository's shape: who may import whom, how long a file may
// grow, and what every package must say about itself.
//
// The one idea: a service knows no other service. That is a rule about imports, so a test can hold it, and
// whoever breaks it learns so from a failing test that names the file and the rule, not from a review.
//
// Open rules.go for the rules; rules_test.go applies them to the repository and, to be sure that they bite, to
// made-up files that break them.
package archtest
