// Package report counts rounds and writes the table of docs/ROBUSTNESS.md.
package report
