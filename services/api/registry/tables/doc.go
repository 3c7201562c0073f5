// Package tables lays objects out in the rows that kubectl shows.
//
// One idea: for each kind there is a list of columns, PodColumns, and a method of Rows of the kind's name, Pod, whose cells are in
// the order of these columns. Columns with priority 1 are those of "-o wide". rows.go has what the files for the kinds share; pods.go, with
// the words for every state of a pod, is the one to read first. Kinds without columns are shown by name and creation time.
package tables
