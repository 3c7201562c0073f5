package pause

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

func TestProgramsAreValidELF(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		program, err := Program(arch)
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(program))
		if err != nil {
			t.Fatalf("%s: %v", arch, err)
		}
		if f.Type != elf.ET_EXEC || len(f.Progs) != 1 || f.Progs[0].Filesz != uint64(len(program)) {
			t.Errorf("%s: unexpected headers %+v", arch, f.FileHeader)
		}
	}
	if _, err := Program("sparc"); err == nil {
		t.Error("want an error for an architecture without a program")
	}
}

func TestProgramRunsAndExitsOnTerm(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("only the amd64 program handles SIGTERM")
	}
	program, err := Program(runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The signal may arrive before the handler is set; then it kills the process, which is as good an end, so only a wrong exit status counts.
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if exit, ok := err.(*exec.ExitError); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
		return
	}
	if err != nil {
		t.Fatalf("the program ended with %v", err)
	}
}
