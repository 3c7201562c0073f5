package images

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tree is the files of one layer, by clean absolute path. Owners are root, times the epoch.
type tree map[string]node

type node struct {
	kind   byte // a tar type flag
	mode   int64
	data   []byte
	target string
}

func (t tree) dir(name string, mode int64) {
	t.parents(name)
	t[clean(name)] = node{kind: tar.TypeDir, mode: mode}
}

func (t tree) file(name string, mode int64, data []byte) {
	t.parents(name)
	t[clean(name)] = node{kind: tar.TypeReg, mode: mode, data: data}
}

func (t tree) symlink(name, target string) {
	t.parents(name)
	t[clean(name)] = node{kind: tar.TypeSymlink, mode: 0o777, target: target}
}

// copy takes a file of the build machine; a symbolic link is followed.
func (t tree) copy(name, source string, mode int64) error {
	data, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	t.file(name, mode, data)
	return nil
}

func (t tree) parents(name string) {
	for dir := path.Dir(clean(name)); dir != "/"; dir = path.Dir(dir) {
		if _, ok := t[dir]; !ok {
			t[dir] = node{kind: tar.TypeDir, mode: 0o755}
		}
	}
}

func clean(name string) string { return path.Clean("/" + name) }

// layer packs the tree, sorted by path.
func (t tree) layer() (v1.Layer, error) {
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		n := t[name]
		header := &tar.Header{Typeflag: n.kind, Name: strings.TrimPrefix(name, "/"), Mode: n.mode, Size: int64(len(n.data)), Linkname: n.target, Format: tar.FormatPAX}
		if n.kind == tar.TypeDir {
			header.Name += "/"
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
		if _, err := w.Write(n.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}

// image puts layers above each other and sets what the image runs.
func image(arch string, config v1.Config, layers ...v1.Layer) (v1.Image, error) {
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.AppendLayers(base, layers...)
	if err != nil {
		return nil, err
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", arch, config
	return mutate.ConfigFile(img, file)
}
