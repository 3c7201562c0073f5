package images

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/orrery-io/orrery/services/internal/images/pause"
)

// Options of Build.
type Options struct {
	// Out is the folder of the OCI layout.
	Out string
	// Cache keeps unpacked packages; Out with the suffix ".packages" when empty.
	Cache string
	// Orrery is an orrery binary; when set, orrery:latest is built from it, anew each time.
	Orrery string
	// Force builds images that the layout has already.
	Force bool
}

type builder struct {
	packages packages
	arch     string
	// base and server are layers that several images share, made once: busybox, and nginx without its page.
	base, server v1.Layer
}

// libraryRoots unpacks the library packages that a package depends on, at any depth.
func (b *builder) libraryRoots(ctx context.Context, name string) ([]string, error) {
	var roots []string
	seen := map[string]bool{}
	for level := []string{name}; len(level) > 0; {
		dependencies, err := b.packages.libraries(ctx, level)
		if err != nil {
			return nil, err
		}
		level = nil
		for _, dependency := range dependencies {
			if seen[dependency] {
				continue
			}
			seen[dependency] = true
			root, err := b.packages.unpack(ctx, dependency)
			if err != nil {
				return nil, err
			}
			roots = append(roots, root)
			level = append(level, dependency)
		}
	}
	return roots, nil
}

type recipe struct {
	reference string
	build     func(context.Context) (v1.Image, error)
	always    bool
}

// Build makes the images and writes them into the layout at options.Out: docker.io/library/busybox:1.36, docker.io/library/nginx:1.27 and 1.28,
// the pause image, and docker.io/orrery/orrery:latest if a binary is given. Those that are there stay. Several processes may call it at once.
func Build(ctx context.Context, options Options) error {
	if options.Out == "" {
		return fmt.Errorf("images: no output folder given")
	}
	if options.Cache == "" {
		options.Cache = filepath.Clean(options.Out) + ".packages"
	}
	// Commands run inside the cache, so its name must not depend on the working folder.
	cache, err := filepath.Abs(options.Cache)
	if err != nil {
		return fmt.Errorf("images: %w", err)
	}
	options.Cache = cache
	for _, dir := range []string{options.Out, options.Cache} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("images: %w", err)
		}
	}
	unlock, err := lock(options.Cache)
	if err != nil {
		return fmt.Errorf("images: %w", err)
	}
	defer unlock()
	arch, err := architecture(ctx)
	if err != nil {
		return fmt.Errorf("images: %w", err)
	}
	b := &builder{packages: packages{options.Cache}, arch: arch}
	recipes := []recipe{
		{reference: pause.Reference, build: func(context.Context) (v1.Image, error) { return pause.Image() }},
		{reference: "docker.io/library/busybox:1.36", build: b.busybox},
		{reference: "docker.io/library/nginx:1.27", build: func(ctx context.Context) (v1.Image, error) { return b.nginx(ctx, "1.27") }},
		{reference: "docker.io/library/nginx:1.28", build: func(ctx context.Context) (v1.Image, error) { return b.nginx(ctx, "1.28") }},
	}
	if options.Orrery != "" {
		recipes = append(recipes, recipe{reference: "docker.io/orrery/orrery:latest", always: true,
			build: func(ctx context.Context) (v1.Image, error) { return b.orrery(ctx, options.Orrery) }})
	}
	l, err := openLayout(options.Out)
	if err != nil {
		return err
	}
	have, err := l.references()
	if err != nil {
		return err
	}
	for _, r := range recipes {
		if _, ok := have[r.reference]; ok && !r.always && !options.Force {
			continue
		}
		img, err := r.build(ctx)
		if err != nil {
			return fmt.Errorf("images: building %s: %w", r.reference, err)
		}
		if err := l.put(r.reference, img); err != nil {
			return fmt.Errorf("images: storing %s: %w", r.reference, err)
		}
		digest, _ := img.Digest()
		slog.InfoContext(ctx, "image built", "image", r.reference, "digest", digest.String())
	}
	return nil
}

// lock keeps other processes from building into the same folders.
func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	return func() { f.Close() }, nil
}
