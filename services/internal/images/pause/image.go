package pause

import (
	"archive/tar"
	"bytes"
	"io"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Reference is the image's full name.
const Reference = "docker.io/orrery/pause:1"

// Image is the sandbox image of this machine's architecture.
func Image() (v1.Image, error) {
	program, err := Program(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "pause", Mode: 0o755, Size: int64(len(program)), Format: tar.FormatUSTAR}); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", runtime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}
	return mutate.ConfigFile(image, file)
}

// WriteArchive writes the image as a docker archive, which `ctr images import` reads.
func WriteArchive(w io.Writer) error {
	image, err := Image()
	if err != nil {
		return err
	}
	tag, err := name.NewTag(Reference)
	if err != nil {
		return err
	}
	return tarball.Write(tag, image, w)
}
