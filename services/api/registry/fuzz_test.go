package registry

import (
	"context"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/orrery-io/orrery/services/api/object"
)

// Whatever a client sends, an entry answers; and an object that is complete stays as it is.
func TestArbitraryObjects(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 6
	}
	for _, k := range All() {
		t.Run(k.APIVersion()+" "+k.Kind.Kind, func(t *testing.T) {
			fill := filler()
			if k.Kind.Kind == "CustomResourceDefinition" {
				fill.MaxDepth(9) // schemas nest
			}
			for i := range rounds {
				obj, old := k.New(), k.New()
				// Every other object is sparse: most fields are absent, as in what people write.
				fill.NilChance([]float64{0.2, 0.8}[i%2])
				fill.Fill(obj)
				fill.Fill(old)
				exercise(t, k, obj, old)
			}
			exercise(t, k, k.New(), k.New())
		})
	}
}

func exercise(t *testing.T, k *Kind, obj, old object.Object) {
	t.Helper()
	ctx := context.Background()
	if k.Row != nil {
		cells, err := k.Row(obj)
		if err != nil || len(cells) != len(k.Columns) {
			t.Fatalf("%d cells for %d columns, error %v", len(cells), len(k.Columns), err)
		}
	}
	if k.SelectableFields != nil {
		set := k.SelectableFields(obj)
		for name := range set {
			if !contains(k.FieldNames, name) {
				t.Fatalf("%s is a selectable field without a name", name)
			}
		}
	}
	if k.Validate != nil {
		k.Validate(ctx, obj) // before anything is filled in
	}
	if k.Default != nil {
		k.Default(obj)
		k.Default(old)
		again := obj.DeepCopyObject().(object.Object)
		k.Default(again)
		if a, b := encode(t, obj), encode(t, again); a != b {
			t.Fatalf("the defaults change a complete object:\n%s\n%s", a, b)
		}
	}
	if k.PrepareCreate != nil {
		k.PrepareCreate(ctx, obj.DeepCopyObject().(object.Object))
	}
	if k.PrepareUpdate != nil {
		k.PrepareUpdate(ctx, obj, old)
	}
	if k.Validate != nil {
		k.Validate(ctx, obj)
	}
	if k.ValidateUpdate != nil {
		k.ValidateUpdate(ctx, obj, old)
	}
	if k.ValidateStatus != nil {
		k.ValidateStatus(ctx, obj, old)
	}
	if k.Warnings != nil {
		k.Warnings(ctx, obj, nil)
		k.Warnings(ctx, obj, old)
	}
	if k.NameCheck != nil {
		k.NameCheck(obj.GetName(), false)
		k.NameCheck(obj.GetName(), true)
	}
	if k.Graceful != nil {
		k.Graceful(ctx, obj, &metav1.DeleteOptions{})
	}
	if k.HoldDeletion != nil {
		k.HoldDeletion(obj)
	}
	if k.BeginDeletion != nil {
		k.BeginDeletion(obj)
	}
	if k.Scale != nil {
		k.Scale.Get(obj)
		k.Scale.Set(obj, 3)
		if specReplicas, _, _ := k.Scale.Get(obj); specReplicas != 3 {
			t.Fatalf("scaled to 3, has %d", specReplicas)
		}
	}
	if k.Alias != nil {
		stored, err := k.Alias.ToStored(obj)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Alias.FromStored(stored); err != nil {
			t.Fatal(err)
		}
	}
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

func encode(t *testing.T, obj object.Object) string {
	t.Helper()
	b, err := obj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q", b)
}

func filler() *randfill.Filler {
	return randfill.NewWithSeed(1).NumElements(1, 3).MaxDepth(14).Funcs(
		func(q *resource.Quantity, c randfill.Continue) {
			*q = *resource.NewMilliQuantity(int64(c.Int31())-1000, resource.DecimalSI)
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			*v = intstr.FromInt32(c.Int31())
			if c.Bool() {
				*v = intstr.FromString([]string{"", "25%", "http", "%"}[c.Intn(4)])
			}
		},
		func(v *metav1.Time, c randfill.Continue) { *v = metav1.Unix(int64(c.Int31()), 0) },
		func(v *metav1.MicroTime, c randfill.Continue) { v.Time = time.Unix(int64(c.Int31()), 0) },
		func(v *runtime.RawExtension, c randfill.Continue) { v.Raw = []byte(`{"a":1}`) },
		func(v *metav1.FieldsV1, c randfill.Continue) { v.Raw = []byte("{}") },
	)
}
