package schema

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/registry"
	"github.com/orrery-io/orrery/services/internal/kinds"
)

// Document is a finished body.
type Document struct {
	// Code is the HTTP status, 0 for 200.
	Code        int
	ContentType string
	Body        []byte
	// Headers by their names in lower case: "etag".
	Headers map[string]string
}

// Documents serves the paths that are no resources. It is safe for concurrent use.
type Documents struct {
	kinds  []*registry.Kind
	groups []group

	mu    sync.Mutex
	cache map[string]func() ([]byte, error)
}

// New makes the documents of the registry's kinds.
func New(entries []*registry.Kind) *Documents {
	d := &Documents{cache: map[string]func() ([]byte, error){}}
	// The table of kinds is in the order in which discovery shows them, the registry in none.
	byService := make(map[string]*registry.Kind, len(entries))
	for _, k := range entries {
		byService[k.Service] = k
	}
	for _, k := range kinds.All {
		if entry, ok := byService[k.Service]; ok {
			d.kinds = append(d.kinds, entry)
		}
	}
	d.groups = groupsOf(d.kinds)
	return d
}

// Serve returns the document at path; found is false where there is none. accept and ifNoneMatch are the request's headers.
func (d *Documents) Serve(path string, query url.Values, accept, ifNoneMatch string) (doc Document, found bool, err error) {
	path = strings.TrimSuffix(path, "/")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/version":
		doc, err = d.json("version", accept, versionJSON)
	case path == "/api" || path == "/apis":
		doc, err = d.discoveryRoot(path, accept, ifNoneMatch)
	case parts[0] == "api" && len(parts) == 2:
		return d.discoveryVersion("", parts[1], accept)
	case parts[0] == "apis" && len(parts) == 2:
		return d.discoveryGroup(parts[1], accept)
	case parts[0] == "apis" && len(parts) == 3:
		return d.discoveryVersion(parts[1], parts[2], accept)
	case path == "/openapi/v2":
		doc, err = d.openAPIv2(accept, ifNoneMatch)
	case path == "/openapi/v3":
		doc, err = d.openAPIv3Index(accept)
	case strings.HasPrefix(path, "/openapi/v3/"):
		return d.openAPIv3(strings.TrimPrefix(path, "/openapi/v3/"), query, accept, ifNoneMatch)
	default:
		return Document{}, false, nil
	}
	return doc, true, err
}

// kept is the body under key, made once.
func (d *Documents) kept(key string, build func() ([]byte, error)) ([]byte, error) {
	d.mu.Lock()
	once, ok := d.cache[key]
	if !ok {
		once = sync.OnceValues(build)
		d.cache[key] = once
	}
	d.mu.Unlock()
	return once()
}

func (d *Documents) json(key, accept string, build func() ([]byte, error)) (Document, error) {
	if !negotiate.Covers(accept, negotiate.JSON) {
		return Document{}, negotiate.NotAcceptable(negotiate.JSON)
	}
	body, err := d.kept(key, build)
	if err != nil {
		return Document{}, fmt.Errorf("building %s: %w", key, err)
	}
	return Document{ContentType: negotiate.JSON, Body: body}, nil
}

// object is the document of an API object in the media type that accept asks for.
func (d *Documents) object(key, accept string, gvk apischema.GroupVersionKind, obj runtime.Object) (Document, error) {
	f, err := negotiate.Accept(accept, negotiate.NoViews)
	if err != nil {
		return Document{}, err
	}
	body, err := d.kept(key+"|"+f.MediaType, func() ([]byte, error) {
		parts, err := negotiate.Plain(obj, gvk).Encode(f)
		if err != nil {
			return nil, err
		}
		var b []byte
		for _, p := range parts {
			b = append(b, p...)
		}
		return b, nil
	})
	if err != nil {
		return Document{}, fmt.Errorf("building %s: %w", key, err)
	}
	return Document{ContentType: f.MediaType, Body: body}, nil
}

// tagged gives a document its ETag, and is 304 without a body for a client that has it already.
func tagged(doc Document, etag, ifNoneMatch string) Document {
	doc.Headers = map[string]string{"etag": `"` + etag + `"`, "vary": "Accept"}
	for _, have := range strings.Split(ifNoneMatch, ",") {
		if strings.Trim(strings.TrimPrefix(strings.TrimSpace(have), "W/"), `"`) == etag {
			doc.Code, doc.Body = http.StatusNotModified, nil
		}
	}
	return doc
}

func hashOf(parts ...[]byte) string {
	h := sha512.New()
	for _, p := range parts {
		h.Write(p)
	}
	return strings.ToUpper(hex.EncodeToString(h.Sum(nil)))
}
