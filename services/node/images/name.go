package images

import (
	"fmt"

	"github.com/distribution/reference"
)

// WithTag is the image's name with the tag latest when it has neither tag nor digest.
func WithTag(image string) (string, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	if reference.IsNameOnly(named) {
		return image + ":latest", nil
	}
	return image, nil
}

// registryOf is the registry's host: docker.io for nginx.
func registryOf(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return ""
	}
	return reference.Domain(named)
}
