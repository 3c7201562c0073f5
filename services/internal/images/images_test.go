package images

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// cache holds unpacked packages between runs; the build folder is not part of the repository.
const cache = "../../../.build/images.packages"

func TestBuiltImagesArePulledFromTheRegistry(t *testing.T) {
	dir := t.TempDir()
	if err := Build(t.Context(), Options{Out: filepath.Join(dir, "layout"), Cache: cache}); err != nil {
		t.Fatal(err)
	}
	registry, err := Serve(t.Context(), filepath.Join(dir, "layout"), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	pull := func(image string) error {
		ref, err := name.ParseReference(registry.Address()+"/"+image, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		img, err := remote.Image(ref)
		if err != nil {
			return err
		}
		layers, err := img.Layers()
		for _, layer := range layers {
			content, readErr := layer.Uncompressed()
			if readErr != nil {
				return readErr
			}
			content.Close()
		}
		return err
	}
	for _, image := range []string{"library/busybox:1.36", "library/nginx:1.27", "library/nginx:1.28"} {
		if err := pull(image); err != nil {
			t.Errorf("pulling %s: %v", image, err)
		}
	}
	err = pull("library/nginx:doesnotexist")
	if answer, ok := err.(*transport.Error); !ok || answer.StatusCode != http.StatusNotFound {
		t.Errorf("pulling a missing tag: %v, want a 404", err)
	}
}

func TestSamePackagesGiveSameDigests(t *testing.T) {
	dir := t.TempDir()
	digests := func(out string) map[string]string {
		if err := Build(t.Context(), Options{Out: filepath.Join(dir, out), Cache: cache}); err != nil {
			t.Fatal(err)
		}
		l, err := openLayout(filepath.Join(dir, out))
		if err != nil {
			t.Fatal(err)
		}
		references, err := l.references()
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		for reference, digest := range references {
			found[reference] = digest.String()
		}
		return found
	}
	first, second := digests("a"), digests("b")
	for reference, digest := range first {
		if second[reference] != digest {
			t.Errorf("%s: %s, then %s", reference, digest, second[reference])
		}
	}
}
