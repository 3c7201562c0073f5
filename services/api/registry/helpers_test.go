package registry

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/orrery-io/orrery/services/api/object"
)

// kindNamed finds an entry by apiVersion and plural.
func kindNamed(t *testing.T, apiVersion, plural string) *Kind {
	t.Helper()
	for _, k := range All() {
		if k.APIVersion() == apiVersion && k.Plural == plural {
			return k
		}
	}
	t.Fatalf("no kind %s %s", apiVersion, plural)
	return nil
}

// parse makes an object of the kind from YAML.
func parse(t *testing.T, k *Kind, text string) object.Object {
	t.Helper()
	obj := k.New()
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return obj
}

// show is the object as YAML, with keys in order.
func show(t *testing.T, obj object.Object) string {
	t.Helper()
	b, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
