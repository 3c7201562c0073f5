package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/orrery-io/orrery/services/store/kv"
)

// keyPrinter writes keys and values as they are read, in one of the forms of output.
type keyPrinter struct {
	w        io.Writer
	format   string
	keysOnly bool
	n        int
	revision int64
	total    int64
}

func newKeyPrinter(w io.Writer, format string, keysOnly bool) (*keyPrinter, error) {
	switch format {
	case "", "json", "yaml":
		return &keyPrinter{w: w, format: format, keysOnly: keysOnly}, nil
	}
	return nil, fmt.Errorf("--output %q: want json or yaml, or nothing for keys and values as they are", format)
}

// entry is a key in JSON and YAML; the names of its fields are stable.
type entry struct {
	Key            string `json:"key"`
	CreateRevision int64  `json:"createRevision"`
	ModRevision    int64  `json:"modRevision"`
	Version        int64  `json:"version"`
	Lease          int64  `json:"lease,omitempty"`
	// Object is a value that is an object of the API, Text one that is text, Bytes any other.
	Object any    `json:"object,omitempty"`
	Text   string `json:"text,omitempty"`
	Bytes  []byte `json:"bytes,omitempty"`
}

func (p *keyPrinter) begin(revision, total int64) { p.revision, p.total = revision, total }

func (p *keyPrinter) count(n int64) error {
	var err error
	switch p.format {
	case "json":
		_, err = fmt.Fprintf(p.w, "{\"count\":%d,\"revision\":%d}\n", n, p.revision)
	case "yaml":
		_, err = fmt.Fprintf(p.w, "count: %d\nrevision: %d\n", n, p.revision)
	default:
		_, err = fmt.Fprintln(p.w, n)
	}
	return err
}

func (p *keyPrinter) print(pair kv.KeyValue) error {
	p.n++
	if p.format == "" {
		if p.keysOnly {
			_, err := fmt.Fprintf(p.w, "%s\n", pair.Key)
			return err
		}
		_, err := fmt.Fprintf(p.w, "%s\n%s\n", pair.Key, pair.Value)
		return err
	}
	e := entry{Key: string(pair.Key), CreateRevision: pair.CreateRevision, ModRevision: pair.ModRevision, Version: pair.Version, Lease: pair.Lease}
	if !p.keysOnly {
		e.setValue(pair.Value)
	}
	if p.format == "yaml" {
		data, err := yaml.Marshal(e)
		if err != nil {
			return fmt.Errorf("printing %s: %w", pair.Key, err)
		}
		_, err = fmt.Fprintf(p.w, "---\n%s", data)
		return err
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("printing %s: %w", pair.Key, err)
	}
	before := ",\n    "
	if p.n == 1 {
		before = "{\n  \"keys\": [\n    "
	}
	_, err = fmt.Fprintf(p.w, "%s%s", before, data)
	return err
}

func (p *keyPrinter) end() error {
	if p.format != "json" {
		return nil
	}
	before := "\n  ],"
	if p.n == 0 {
		before = "{\n  \"keys\": [],"
	}
	_, err := fmt.Fprintf(p.w, "%s\n  \"count\": %d,\n  \"revision\": %d\n}\n", before, p.total, p.revision)
	return err
}

// setValue decodes a value as far as it can be.
func (e *entry) setValue(value []byte) {
	if obj := decodeObject(value, e.ModRevision); obj != nil {
		e.Object = obj
		return
	}
	var custom map[string]any
	switch {
	case bytes.HasPrefix(value, []byte("{")) && json.Unmarshal(value, &custom) == nil:
		e.Object = custom
	case utf8.Valid(value):
		e.Text = string(value)
	default:
		e.Bytes = value
	}
}

// objectPrefix opens the stored value of a built-in kind, as in Kubernetes' own storage.
var objectPrefix = []byte("k8s\x00")

// decodeObject is the object in a stored value, nil when it is none that is known here.
func decodeObject(value []byte, revision int64) runtime.Object {
	raw, ok := bytes.CutPrefix(value, objectPrefix)
	if !ok {
		return nil
	}
	var envelope runtime.Unknown
	if envelope.Unmarshal(raw) != nil {
		return nil
	}
	kind := schema.FromAPIVersionAndKind(envelope.APIVersion, envelope.Kind)
	obj, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil
	}
	message, ok := obj.(interface{ Unmarshal([]byte) error })
	if !ok || message.Unmarshal(envelope.Raw) != nil {
		return nil
	}
	obj.GetObjectKind().SetGroupVersionKind(kind)
	if meta, ok := obj.(interface{ SetResourceVersion(string) }); ok {
		meta.SetResourceVersion(fmt.Sprint(revision))
	}
	return obj
}
