package images

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// orrery is the given orrery binary over busybox with the usual certificate authorities. A dynamically linked binary brings the build
// machine's libraries along.
func (b *builder) orrery(ctx context.Context, binary string) (v1.Image, error) {
	base, err := b.baseLayer(ctx)
	if err != nil {
		return nil, err
	}
	root, err := b.packages.unpack(ctx, "ca-certificates")
	if err != nil {
		return nil, err
	}
	certificates, err := filepath.Glob(filepath.Join(root, "usr/share/ca-certificates/mozilla/*.crt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(certificates)
	var bundle []byte
	for _, path := range certificates {
		pem, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		bundle = append(bundle, pem...)
	}
	program := tree{}
	program.file("/etc/ssl/certs/ca-certificates.crt", 0o644, bundle)
	if err := program.copy("/usr/local/bin/orrery", binary, 0o755); err != nil {
		return nil, fmt.Errorf("the orrery binary (make build makes it): %w", err)
	}
	f, err := elf.Open(binary)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", binary, err)
	}
	dynamic := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	f.Close()
	if dynamic {
		if err := program.addLibraries(b.arch, binary, []string{"/"}); err != nil {
			return nil, err
		}
	}
	top, err := program.layer()
	if err != nil {
		return nil, err
	}
	return image(b.arch, v1.Config{Entrypoint: []string{"/usr/local/bin/orrery"}, Env: []string{defaultPath}}, base, top)
}
