// Package procgroup runs the services of a cluster on one machine: all in one process, or each as a process of its own.
//
// The one idea: a group is started in order and stopped in reverse, so that whatever a service leans on outlives it. In both modes the
// owner waits for everything it began; nothing is left running.
//
//   - Group runs functions as goroutines. The first that fails ends all (`orrery up`).
//   - Supervisor runs child processes. One that dies is started again, after a back-off with jitter; its process id is in
//     <data-dir>/run/<name>.pid, its output in <data-dir>/logs/<name>.log (`orrery up --multi-process`).
//
// Open group.go first; supervisor.go and child.go are the processes, logfile.go their output.
package procgroup
