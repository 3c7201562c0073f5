package protogen

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "github.com/orrery-io/orrery/services/internal/apidef" // registers the generated messages
	"github.com/orrery-io/orrery/services/internal/kinds"
)

const root = "../../.."

// TestGeneratedFilesAreCurrent fails when the Go types, the table or the generator changed and make generate was not run.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	want, err := Generated()
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range want {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Errorf("%v; run make generate", err)
		} else if !bytes.Equal(got, content) {
			t.Errorf("%s is not what the generator writes; run make generate", path)
		}
	}
}

// TestJSONNames compares the JSON name of every generated field with Kubernetes' json tag, found by field number.
func TestJSONNames(t *testing.T) {
	for name, s := range subjects(t) {
		if s.goType.Kind() != reflect.Struct {
			continue
		}
		for i := range s.goType.NumField() {
			sf := s.goType.Field(i)
			jsonName, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			parts := strings.Split(sf.Tag.Get("protobuf"), ",")
			if len(parts) < 2 || jsonName == "" || jsonName == "-" {
				continue // not on the wire, inlined, or hidden
			}
			n, err := strconv.Atoi(parts[1])
			if err != nil {
				t.Fatalf("%s.%s: %v", name, sf.Name, err)
			}
			fd := s.generated.Descriptor().Fields().ByNumber(protoreflect.FieldNumber(n))
			if fd == nil {
				t.Errorf("%s has no field %d for %s", name, n, sf.Name)
			} else if fd.JSONName() != jsonName {
				t.Errorf("%s.%s has JSON name %q, Kubernetes says %q", name, fd.Name(), fd.JSONName(), jsonName)
			}
		}
	}
}

// TestServices checks that the exported table of kinds and the generated services say the same.
func TestServices(t *testing.T) {
	for _, k := range kinds.All {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(k.Service))
		if err != nil {
			t.Errorf("%s: %v", k.Service, err)
			continue
		}
		if got := d.ParentFile().Path(); got != k.ProtoFile {
			t.Errorf("%s is defined in %s, the table says %s", k.Service, got, k.ProtoFile)
		}
		ms := d.(protoreflect.ServiceDescriptor).Methods()
		if ms.Len() != len(k.Methods) {
			t.Errorf("%s has %d methods, the table %d", k.Service, ms.Len(), len(k.Methods))
			continue
		}
		for i, m := range k.Methods {
			if got := string(ms.Get(i).Name()); got != m.Name {
				t.Errorf("%s: method %d is %s, the table says %s", k.Service, i, got, m.Name)
			}
			checkLayout(t, k, m, ms.Get(i))
		}
	}
}

// layouts are the field numbers that every request of a shape has, whatever the kind.
var layouts = map[kinds.Shape]string{
	kinds.ShapeGet:              "1 namespace 2 name 3 resource_version",
	kinds.ShapeList:             "1 namespace 2 options",
	kinds.ShapeWatch:            "1 namespace 2 options",
	kinds.ShapeCreate:           "1 namespace 2 object 3 options",
	kinds.ShapeUpdate:           "1 namespace 2 object 3 options",
	kinds.ShapePatch:            "1 namespace 2 name 3 type 4 patch 5 options 6 subresource",
	kinds.ShapeDelete:           "1 namespace 2 name 3 options",
	kinds.ShapeDeleteCollection: "1 namespace 2 options 3 list_options",
}

func checkLayout(t *testing.T, k kinds.Kind, m kinds.Method, d protoreflect.MethodDescriptor) {
	t.Helper()
	want := layouts[m.Shape]
	if m.Kind != "" && m.Shape != kinds.ShapeGet {
		want += " 4 name"
	}
	if got := fieldList(d.Input()); got != want {
		t.Errorf("%s.%s: request is {%s}, want {%s}", k.Service, m.Name, got, want)
	}
	if d.IsStreamingServer() != (m.Shape == kinds.ShapeWatch) {
		t.Errorf("%s.%s: streaming is %t", k.Service, m.Name, d.IsStreamingServer())
	}
	if m.Shape == kinds.ShapeWatch {
		if got, want := fieldList(d.Output()), "1 type 2 object 3 trace_parent 4 error"; got != want {
			t.Errorf("%s.%s: event is {%s}, want {%s}", k.Service, m.Name, got, want)
		}
	}
}

func fieldList(d protoreflect.MessageDescriptor) string {
	var out []string
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		out = append(out, strconv.Itoa(int(f.Number())), string(f.Name()))
	}
	return strings.Join(out, " ")
}

func TestSnakeCase(t *testing.T) {
	for in, want := range map[string]string{
		"clusterIPs": "cluster_ips", "clusterIP": "cluster_ip", "podCIDRs": "pod_cidrs", "hostIPC": "host_ipc",
		"nonResourceURLs": "non_resource_urls", "externalIPs": "external_ips", "APIVersion": "api_version",
		"x-kubernetes-list-map-keys": "x_kubernetes_list_map_keys", "$ref": "ref", "CSINode": "csi_node",
		"IPAddress": "ip_address", "ServiceCIDR": "service_cidr", "targetWWNs": "target_wwns", "items": "items",
	} {
		if got := snakeCase(in); got != want {
			t.Errorf("snakeCase(%q) = %q, want %q", in, got, want)
		}
	}
}
