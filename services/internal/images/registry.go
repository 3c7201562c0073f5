package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry serves a layout's images over plain HTTP with the distribution API, as a mirror of docker.io: docker.io/library/nginx:1.27 is
// library/nginx:1.27 here. What is not there answers 404 MANIFEST_UNKNOWN or NAME_UNKNOWN, as docker.io does.
type Registry struct {
	server   *http.Server
	listener net.Listener
	done     chan error
}

// Serve loads the layout and listens on address ("127.0.0.1:0" for any port). Close ends it.
func Serve(ctx context.Context, layoutDir, address string) (*Registry, error) {
	l, err := openLayout(layoutDir)
	if err != nil {
		return nil, err
	}
	references, err := l.references()
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	if len(references) == 0 {
		return nil, fmt.Errorf("images: the layout %s has no images: build them first", layoutDir)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("images: the registry's address: %w", err)
	}
	r := &Registry{listener: listener, done: make(chan error, 1),
		server: &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: 10 * time.Second}}
	go func() { r.done <- r.server.Serve(listener) }()
	for reference, digest := range references {
		err := func() error {
			full, err := name.ParseReference(reference)
			if err != nil {
				return err
			}
			image, err := l.image(digest)
			if err != nil {
				return err
			}
			target, err := name.ParseReference(r.Address()+"/"+full.Context().RepositoryStr()+":"+full.Identifier(), name.Insecure)
			if err != nil {
				return err
			}
			return remote.Write(target, image, remote.WithContext(ctx))
		}()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("images: loading %s: %w", reference, err), r.Close())
		}
	}
	return r, nil
}

// Address is host:port.
func (r *Registry) Address() string { return r.listener.Addr().String() }

// Mirror is the value for a node's registry mirrors: "docker.io=http://host:port".
func (r *Registry) Mirror() string { return "docker.io=http://" + r.Address() }

// Close stops serving and waits for the server's goroutine.
func (r *Registry) Close() error {
	err := r.server.Close()
	if served := <-r.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
