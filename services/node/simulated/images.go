package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/orrery-io/orrery/services/node/cri"
)

func (r *Runtime) ImageStatus(_ context.Context, image string) (*runtimeapi.Image, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.images[image], nil
}

// PullImage fails for names with "doesnotexist" and makes up a digest for all others.
func (r *Runtime) PullImage(ctx context.Context, image string, _ *runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) (ref string, err error) {
	end := cri.Span(ctx, "PullImage", sandbox, "")
	defer func() { end(err) }()
	if strings.Contains(image, "doesnotexist") {
		return "", status.Errorf(codes.NotFound, "failed to pull and unpack image %q: failed to resolve reference %q: %s: not found", image, image, image)
	}
	sum := sha256.Sum256([]byte(image))
	repository := image
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		repository = image[:i]
	}
	repository, _, _ = strings.Cut(repository, "@")
	digest := repository + "@sha256:" + hex.EncodeToString(sum[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.images[image]; !ok {
		r.images[image] = &runtimeapi.Image{Id: "sha256:" + hex.EncodeToString(sum[:]), RepoTags: []string{image}, RepoDigests: []string{digest}}
	}
	return digest, nil
}

func (r *Runtime) ListImages(context.Context) ([]*runtimeapi.Image, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*runtimeapi.Image, 0, len(r.images))
	for _, image := range r.images {
		out = append(out, image)
	}
	return out, nil
}

func (r *Runtime) RemoveImage(_ context.Context, image string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.images, image)
	return nil
}

// pool hands out a subnet's addresses: those never used first, then the one that was given back the longest ago.
type pool struct {
	subnet netip.Prefix
	next   netip.Addr
	free   []string
}

func newPool(subnet netip.Prefix) pool {
	// The network's own address and the gateway are not for pods.
	return pool{subnet: subnet, next: subnet.Masked().Addr().Next().Next()}
}

func (p *pool) take() (string, bool) {
	// The last address is the broadcast address.
	if p.subnet.Contains(p.next.Next()) {
		ip := p.next.String()
		p.next = p.next.Next()
		return ip, true
	}
	if len(p.free) == 0 {
		return "", false
	}
	ip := p.free[0]
	p.free = p.free[1:]
	return ip, true
}

func (p *pool) give(ip string) {
	if ip != "" {
		p.free = append(p.free, ip)
	}
}
