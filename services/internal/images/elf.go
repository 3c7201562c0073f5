package images

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// libraryDirs are where the dynamic linker looks, with %s for the multiarch triplet.
var libraryDirs = []string{"/lib/%s", "/usr/lib/%s", "/lib", "/usr/lib", "/lib64", "/usr/lib64"}

var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// addLibraries puts the dynamic linker and all libraries that the program needs, at any depth, into t. They are looked for in
// roots, in order. A library that is nowhere is an error that names it.
func (t tree) addLibraries(arch, program string, roots []string) error {
	triplet, ok := triplets[arch]
	if !ok {
		return fmt.Errorf("no library folder known for architecture %q", arch)
	}
	f, err := elf.Open(program)
	if err != nil {
		return fmt.Errorf("reading %s: %w", program, err)
	}
	defer f.Close()
	for _, segment := range f.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		raw, err := io.ReadAll(segment.Open())
		if err != nil {
			return err
		}
		linker := strings.TrimRight(string(raw), "\x00")
		source, ok := locate(filepath.Base(linker), triplet, roots)
		if !ok {
			return fmt.Errorf("the dynamic linker %s of %s is in none of %v", linker, program, roots)
		}
		if err := t.copy(linker, source, 0o755); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	queue := []string{program}
	for len(queue) > 0 {
		current := queue[0]
		queue = queue[1:]
		f, err := elf.Open(current)
		if err != nil {
			return fmt.Errorf("reading %s: %w", current, err)
		}
		needed, err := f.ImportedLibraries()
		f.Close()
		if err != nil {
			return fmt.Errorf("reading what %s needs: %w", current, err)
		}
		for _, library := range needed {
			if seen[library] {
				continue
			}
			seen[library] = true
			source, ok := locate(library, triplet, roots)
			if !ok {
				return fmt.Errorf("%s needs %s, which is in none of %v", current, library, roots)
			}
			if err := t.copy("/usr/lib/"+triplet+"/"+library, source, 0o644); err != nil {
				return err
			}
			queue = append(queue, source)
		}
	}
	return nil
}

func locate(library, triplet string, roots []string) (string, bool) {
	for _, root := range roots {
		for _, dir := range libraryDirs {
			if strings.Contains(dir, "%s") {
				dir = fmt.Sprintf(dir, triplet)
			}
			candidate := filepath.Join(root, dir, library)
			if info, err := os.Stat(candidate); err == nil && info.Mode().IsRegular() {
				return candidate, true
			}
		}
	}
	return "", false
}
