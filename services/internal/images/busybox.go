package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// busyboxTree is busybox with a link for each of its programs, its libraries, and the few files that a C library expects. It is the dynamically linked
// one: a static one crashes when it looks names up in an image without the C library that it was built with.
func (b *builder) busyboxTree(ctx context.Context) (tree, error) {
	root, err := b.packages.unpack(ctx, "busybox")
	if err != nil {
		return nil, err
	}
	libraries, err := b.libraryRoots(ctx, "busybox")
	if err != nil {
		return nil, err
	}
	binary := ""
	for _, candidate := range []string{"bin/busybox", "usr/bin/busybox"} {
		if _, err := os.Stat(filepath.Join(root, candidate)); err == nil {
			binary = filepath.Join(root, candidate)
			break
		}
	}
	if binary == "" {
		return nil, fmt.Errorf("the package busybox has no bin/busybox: this distribution packs it otherwise")
	}
	applets, err := run(ctx, "", binary, "--list-full")
	if err != nil {
		return nil, err
	}
	t := tree{}
	if err := t.copy("/bin/busybox", binary, 0o755); err != nil {
		return nil, err
	}
	if err := t.addLibraries(b.arch, binary, libraries); err != nil {
		return nil, err
	}
	for applet := range strings.Lines(string(applets)) {
		if applet = clean(strings.TrimSpace(applet)); applet != "/bin/busybox" && applet != "/" {
			t.symlink(applet, "/bin/busybox")
		}
	}
	if err := b.addWget(ctx, t); err != nil {
		return nil, err
	}
	t.dir("/root", 0o700)
	t.dir("/home", 0o755)
	t.dir("/tmp", 0o1777)
	t.dir("/var/tmp", 0o1777)
	t.dir("/run", 0o755)
	t.file("/etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nnginx:x:101:101:nginx:/nonexistent:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n"))
	t.file("/etc/group", 0o644, []byte("root:x:0:\nnginx:x:101:\nnogroup:x:65534:\n"))
	t.file("/etc/nsswitch.conf", 0o644, []byte("passwd: files\ngroup: files\nhosts: files dns\n"))
	return t, nil
}

func (b *builder) baseLayer(ctx context.Context) (v1.Layer, error) {
	if b.base != nil {
		return b.base, nil
	}
	t, err := b.busyboxTree(ctx)
	if err != nil {
		return nil, err
	}
	b.base, err = t.layer()
	return b.base, err
}

// addWget replaces busybox' wget, which the distribution builds without time-outs (-T crashes it), by the GNU one.
func (b *builder) addWget(ctx context.Context, t tree) error {
	root, err := b.packages.unpack(ctx, "wget")
	if err != nil {
		return err
	}
	libraries, err := b.libraryRoots(ctx, "wget")
	if err != nil {
		return err
	}
	binary := filepath.Join(root, "usr/bin/wget")
	if err := t.copy("/usr/bin/wget", binary, 0o755); err != nil {
		return err
	}
	return t.addLibraries(b.arch, binary, libraries)
}

func (b *builder) busybox(ctx context.Context) (v1.Image, error) {
	base, err := b.baseLayer(ctx)
	if err != nil {
		return nil, err
	}
	return image(b.arch, v1.Config{Cmd: []string{"sh"}, Env: []string{defaultPath}}, base)
}
