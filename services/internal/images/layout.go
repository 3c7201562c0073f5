package images

import (
	"errors"
	"fmt"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
)

// nameAnnotation holds an image's full reference in the layout's index, where `ctr images import` looks for it too.
const nameAnnotation = "org.opencontainers.image.ref.name"

// ociLayout is one OCI image layout folder with any number of images that share blobs.
type ociLayout struct{ path layout.Path }

func openLayout(dir string) (ociLayout, error) {
	p, err := layout.FromPath(dir)
	if errors.Is(err, os.ErrNotExist) {
		p, err = layout.Write(dir, empty.Index)
	}
	if err != nil {
		return ociLayout{}, fmt.Errorf("images: the layout %s: %w", dir, err)
	}
	return ociLayout{p}, nil
}

// references maps full references to manifest digests.
func (l ociLayout) references() (map[string]v1.Hash, error) {
	index, err := l.path.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	out := map[string]v1.Hash{}
	for _, d := range manifest.Manifests {
		if name := d.Annotations[nameAnnotation]; name != "" {
			out[name] = d.Digest
		}
	}
	return out, nil
}

// put stores the image under the reference, in place of one that had it.
func (l ociLayout) put(reference string, image v1.Image) error {
	return l.path.ReplaceImage(image, match.Annotation(nameAnnotation, reference), layout.WithAnnotations(map[string]string{nameAnnotation: reference}))
}

func (l ociLayout) image(digest v1.Hash) (v1.Image, error) { return l.path.Image(digest) }
