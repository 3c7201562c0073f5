package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/orrery-io/orrery/gen/openapi"
	"github.com/orrery-io/orrery/services/api/registry"
)

// definitionLine is a line of gen/openapi/definitions.json.
type definitionLine struct {
	Name         string          `json:"name"`
	Dependencies []string        `json:"dependencies"`
	Schema       json.RawMessage `json:"schema"`
}

// definitions reads the generated definitions with refs as the prefix of references: "#/definitions/" or
// "#/components/schemas/". The document that is built of them keeps what it needs; the rest is garbage.
func definitions(refs string) (map[string]common.OpenAPIDefinition, error) {
	out := map[string]common.OpenAPIDefinition{}
	for _, line := range bytes.Split(openapi.Definitions, []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		line = bytes.ReplaceAll(line, []byte(`"$ref":"#/`), []byte(`"$ref":"`+refs))
		var d definitionLine
		if err := json.Unmarshal(line, &d); err != nil {
			return nil, fmt.Errorf("reading the generated definitions: %w", err)
		}
		def := common.OpenAPIDefinition{Dependencies: d.Dependencies}
		if err := def.Schema.UnmarshalJSON(d.Schema); err != nil {
			return nil, fmt.Errorf("reading the generated definition of %s: %w", d.Name, err)
		}
		if v, ok := def.Schema.Extensions[common.ExtensionV2Schema]; ok {
			// kube-openapi wants the embedded schema of version 2 as a schema.
			b, err := json.Marshal(v)
			if err != nil {
				return nil, fmt.Errorf("reading the generated definition of %s: %w", d.Name, err)
			}
			var v2 spec.Schema
			if err := v2.UnmarshalJSON(b); err != nil {
				return nil, fmt.Errorf("reading the generated definition of %s: %w", d.Name, err)
			}
			def.Schema.Extensions[common.ExtensionV2Schema] = v2
		}
		out[d.Name] = def
	}
	return out, nil
}

// kindExtension is x-kubernetes-group-version-kind's content.
type kindExtension map[string]any

func extensionOf(group, version, kind string) kindExtension {
	return kindExtension{"group": group, "version": version, "kind": kind}
}

// namer gives definitions the extension that says which kinds they are.
func namer(kinds []*registry.Kind) func(name string) (string, spec.Extensions) {
	of := map[string][]any{}
	add := func(model any, e kindExtension) {
		if n, ok := model.(interface{ OpenAPIModelName() string }); ok {
			of[n.OpenAPIModelName()] = append(of[n.OpenAPIModelName()], map[string]any(e))
		}
	}
	versions := map[[2]string]bool{}
	for _, k := range kinds {
		add(k.New(), extensionOf(k.Group, k.Version, k.Kind.Kind))
		if k.HasVerb("list") {
			add(k.NewList(), extensionOf(k.Group, k.Version, k.ListKind()))
		}
		versions[[2]string{k.Group, k.Version}] = true
		for _, name := range k.Subresources {
			if s, ok := k.Sub(name); ok && samples[s.Kind] != nil && !seen(of, s.Kind) {
				add(samples[s.Kind], extensionOf(s.Group, s.Version, s.Kind))
			}
		}
	}
	for _, gv := range sortedPairs(versions) {
		add(deleteOptionsSample, extensionOf(gv[0], gv[1], "DeleteOptions"))
		add(watchEventSample, extensionOf(gv[0], gv[1], "WatchEvent"))
	}
	add(statusSample, extensionOf("", "v1", "Status"))
	return func(name string) (string, spec.Extensions) {
		if kinds, ok := of[name]; ok {
			return name, spec.Extensions{"x-kubernetes-group-version-kind": kinds}
		}
		return name, nil
	}
}

func seen(of map[string][]any, kind string) bool {
	for name := range of {
		if strings.HasSuffix(name, "."+kind) && samples[kind] != nil {
			return true
		}
	}
	return false
}

func sortedPairs(m map[[2]string]bool) [][2]string {
	out := make([][2]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i][0] < out[j][0] || out[i][0] == out[j][0] && out[i][1] < out[j][1]
	})
	return out
}
