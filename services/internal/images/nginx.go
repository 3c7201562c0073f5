package images

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

const nginxConf = `user nginx;
worker_processes auto;
error_log /var/log/nginx/error.log notice;
pid /run/nginx.pid;

events {
    worker_connections 1024;
}

http {
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log /var/log/nginx/access.log combined;
    sendfile on;
    keepalive_timeout 65;
    include /etc/nginx/conf.d/*.conf;
}
`

const nginxSite = `server {
    listen 80;
    server_name localhost;

    location / {
        root /usr/share/nginx/html;
        index index.html;
    }
}
`

// nginx is the distribution's nginx over busybox, laid out like the image of that name: pages in /usr/share/nginx/html, sites in
// /etc/nginx/conf.d, logs on stdout and stderr. The tag names the image alone; two tags differ in their page, label and NGINX_VERSION.
func (b *builder) nginx(ctx context.Context, tag string) (v1.Image, error) {
	base, err := b.baseLayer(ctx)
	if err != nil {
		return nil, err
	}
	server, err := b.serverLayer(ctx)
	if err != nil {
		return nil, err
	}
	page := tree{}
	page.file("/usr/share/nginx/html/index.html", 0o644, fmt.Appendf(nil,
		"<!DOCTYPE html>\n<html>\n<head><title>Welcome to nginx!</title></head>\n<body>\n<h1>Welcome to nginx!</h1>\n<p>image nginx:%s</p>\n</body>\n</html>\n", tag))
	top, err := page.layer()
	if err != nil {
		return nil, err
	}
	return image(b.arch, v1.Config{
		Cmd:          []string{"nginx", "-g", "daemon off;"},
		Env:          []string{defaultPath, "NGINX_VERSION=" + tag},
		Labels:       map[string]string{"org.opencontainers.image.version": tag},
		ExposedPorts: map[string]struct{}{"80/tcp": {}},
		StopSignal:   "SIGQUIT",
	}, base, server, top)
}

// serverLayer is the server with its libraries and configuration.
func (b *builder) serverLayer(ctx context.Context) (v1.Layer, error) {
	if b.server != nil {
		return b.server, nil
	}
	program, err := b.packages.unpack(ctx, "nginx")
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(program, "usr/sbin/nginx")
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("the package nginx has no usr/sbin/nginx: this distribution packs it otherwise: %w", err)
	}
	common, err := b.packages.unpack(ctx, "nginx-common")
	if err != nil {
		return nil, err
	}
	roots, err := b.libraryRoots(ctx, "nginx")
	if err != nil {
		return nil, err
	}
	server := tree{}
	if err := server.copy("/usr/sbin/nginx", binary, 0o755); err != nil {
		return nil, err
	}
	if err := server.addLibraries(b.arch, binary, roots); err != nil {
		return nil, err
	}
	if err := server.copy("/etc/nginx/mime.types", filepath.Join(common, "etc/nginx/mime.types"), 0o644); err != nil {
		return nil, err
	}
	server.file("/etc/nginx/nginx.conf", 0o644, []byte(nginxConf))
	server.file("/etc/nginx/conf.d/default.conf", 0o644, []byte(nginxSite))
	server.symlink("/var/log/nginx/access.log", "/dev/stdout")
	server.symlink("/var/log/nginx/error.log", "/dev/stderr")
	server.dir("/var/lib/nginx", 0o755)
	b.server, err = server.layer()
	return b.server, err
}
