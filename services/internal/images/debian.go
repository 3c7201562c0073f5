package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages downloads and unpacks Debian or Ubuntu packages under one folder.
type packages struct{ dir string }

// unpack makes the package's files available and returns the folder that is their root. What is there already is used again.
func (p packages) unpack(ctx context.Context, name string) (string, error) {
	root := filepath.Join(p.dir, name)
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	work, err := os.MkdirTemp(p.dir, "."+name+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	// As root, apt drops to the user _apt, who must be able to write here.
	if err := os.Chmod(work, 0o777); err != nil {
		return "", err
	}
	if _, err := run(ctx, work, "apt-get", "-q", "download", name); err != nil {
		return "", fmt.Errorf("downloading the package %s (are the package lists there? apt-get update fetches them): %w", name, err)
	}
	debs, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d files, want one", name, len(debs))
	}
	files := filepath.Join(work, "files")
	if _, err := run(ctx, work, "dpkg-deb", "-x", debs[0], files); err != nil {
		return "", err
	}
	if err := os.Rename(files, root); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return root, nil
}

// libraries lists the packages that the named ones depend on and that hold shared libraries, by Debian's naming rule.
func (p packages) libraries(ctx context.Context, names []string) ([]string, error) {
	args := append([]string{"depends", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances"}, names...)
	out, err := run(ctx, p.dir, "apt-cache", args...)
	if err != nil {
		return nil, fmt.Errorf("reading the dependencies of %s: %w", strings.Join(names, ", "), err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		kind, dep, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if ok && strings.HasSuffix(kind, "Depends") && (strings.HasPrefix(dep, "lib") || strings.HasPrefix(dep, "zlib")) {
			found = append(found, dep)
		}
	}
	return found, nil
}

// architecture is the machine's in Go's terms, which equal Debian's for those that matter.
func architecture(ctx context.Context) (string, error) {
	out, err := run(ctx, "", "dpkg", "--print-architecture")
	return strings.TrimSpace(string(out)), err
}

func run(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s is not installed: building the images needs a Debian or Ubuntu machine", program)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out, nil
}
