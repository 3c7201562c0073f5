package protogen

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/orrery-io/orrery/services/internal/kinds"
)

// wireObject is what every Kubernetes type can do.
type wireObject interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// subject is one message under test: every kind, list, options type, and whatever else a package defines.
type subject struct {
	goType    reflect.Type
	generated protoreflect.MessageType
}

func subjects(t testing.TB) map[string]subject {
	t.Helper()
	u, err := collect()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]subject{}
	for _, m := range u.order {
		mt, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(m.fullName()))
		if err != nil {
			t.Fatalf("%s has no generated Go code: %v; run make generate", m.fullName(), err)
		}
		out[m.fullName()] = subject{m.goType, mt}
	}
	return out
}

// fill restricts random values to those that Kubernetes' own encoding can carry: whole seconds, microseconds,
// quantities in canonical form, no TypeMeta (it travels outside). Instants start after the epoch, whose
// encoding proto3 shortens to nothing, which Kubernetes reads as no time at all.
var fill = []any{
	func(*metav1.TypeMeta, randfill.Continue) {},
	func(t *metav1.Time, c randfill.Continue) { t.Time = time.Unix(1+c.Int63n(1<<33), 0) },
	func(t *metav1.MicroTime, c randfill.Continue) {
		t.Time = time.Unix(1+c.Int63n(1<<33), c.Int63n(1e6)*1000)
	},
	func(q *resource.Quantity, c randfill.Continue) {
		formats := []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent}
		*q = resource.MustParse(resource.NewQuantity(c.Int63n(1<<40)-1<<39, formats[c.Intn(3)]).String())
	},
	func(v *intstr.IntOrString, c randfill.Continue) {
		if c.Bool() {
			*v = intstr.FromInt32(c.Int31())
		} else {
			*v = intstr.FromString(c.String(8))
		}
	},
	func(r *runtime.RawExtension, c randfill.Continue) { r.Raw = []byte(fmt.Sprintf(`{"a":%d}`, c.Int31())) },
	// A nil value of a map and an empty one are the same to everyone but Kubernetes' encoder.
	func(m *map[string][]byte, c randfill.Continue) {
		*m = map[string][]byte{}
		for range c.Intn(3) {
			(*m)[c.String(8)] = []byte(c.String(8))
		}
	},
	// NoHeaders is a hint inside kubectl and not sent.
	func(o *metav1.TableOptions, c randfill.Continue) { c.Fill(&o.IncludeObject) },
	func(f *metav1.FieldsV1, c randfill.Continue) { f.SetRawString(`{"f:metadata":{}}`) },
}

func filler(f *randfill.Filler) *randfill.Filler {
	return f.Funcs(fill...).Funcs(fillSchema()).NilChance(0.5).NumElements(1, 2).MaxDepth(14)
}

// fillSchema keeps JSON schemas small: a dozen of their fields hold schemas again.
func fillSchema() any {
	depth := 0
	return func(s *apiextensionsv1.JSONSchemaProps, c randfill.Continue) {
		if depth == 2 {
			c.Fill(&s.Type)
			c.Fill(&s.Maximum)
			c.Fill(&s.XListType)
			return
		}
		depth++
		c.FillNoCustom(s)
		depth--
	}
}

// TestRoundTrip sends random values of every message through the generated code and back.
func TestRoundTrip(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 20
	}
	for name, s := range subjects(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := int64(len(name)) // the same values every run; FuzzRoundTrip is for new ones
			f := filler(randfill.NewWithSeed(seed).RandSource(rand.NewSource(seed)))
			for range n {
				v := newValue(s.goType)
				f.Fill(v)
				roundTrip(t, s, v.(wireObject))
			}
		})
	}
}

// newValue makes a pointer to a zero value.
func newValue(t reflect.Type) any { return reflect.New(t).Interface() }

func roundTrip(t *testing.T, s subject, in wireObject) {
	t.Helper()
	before, err := in.Marshal()
	if err != nil {
		t.Fatalf("encode the Kubernetes value: %v", err)
	}
	g := s.generated.New()
	if err := proto.Unmarshal(before, g.Interface()); err != nil {
		t.Fatalf("decode into the generated message: %v", err)
	}
	if path := unknown(g); path != "" {
		t.Fatalf("the definition lacks a field: unknown bytes in %s", path)
	}
	middle, err := proto.Marshal(g.Interface())
	if err != nil {
		t.Fatalf("encode the generated message: %v", err)
	}
	out := newValue(s.goType).(wireObject)
	if err := out.Unmarshal(middle); err != nil {
		t.Fatalf("decode into the Kubernetes type: %v", err)
	}
	if !equality.Semantic.DeepEqual(in, out) {
		t.Fatalf("the value changed on its way (-before +after):\n%s", cmp.Diff(in, out))
	}
	after, err := out.Marshal()
	if err != nil {
		t.Fatalf("encode again: %v", err)
	}
	if !bytes.Equal(before, after) {
		t.Fatalf("the bytes changed on their way: %d before, %d after", len(before), len(after))
	}
}

// unknown returns where the message holds bytes that its definition does not know, or "".
func unknown(m protoreflect.Message) (path string) {
	if len(m.GetUnknown()) > 0 {
		return string(m.Descriptor().FullName())
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap() && fd.MapValue().Message() != nil:
			v.Map().Range(func(_ protoreflect.MapKey, e protoreflect.Value) bool {
				path = unknown(e.Message())
				return path == ""
			})
		case fd.IsMap() || fd.Message() == nil:
		case fd.IsList():
			for i := 0; i < v.List().Len() && path == ""; i++ {
				path = unknown(v.List().Get(i).Message())
			}
		default:
			path = unknown(v.Message())
		}
		return path == ""
	})
	return path
}

// FuzzRoundTrip lets the fuzzer choose a message and its value, and also throws its raw bytes at both decoders.
func FuzzRoundTrip(f *testing.F) {
	all := subjects(f)
	names := slices.Sorted(maps.Keys(all))
	for _, k := range kinds.All {
		i, _ := slices.BinarySearch(names, k.ProtoPackage+"."+k.Kind)
		f.Add(uint16(i), []byte("0123456789abcdef0123456789abcdef"))
	}
	f.Fuzz(func(t *testing.T, which uint16, data []byte) {
		s := all[names[int(which)%len(names)]]
		v := newValue(s.goType)
		filler(randfill.NewFromGoFuzz(data)).Fill(v)
		roundTrip(t, s, v.(wireObject))

		// Bytes from a stranger: an error is fine, a panic is not.
		_ = newValue(s.goType).(wireObject).Unmarshal(data)
		_ = proto.Unmarshal(data, s.generated.New().Interface())
	})
}
