package registry

import (
	"testing"

	"github.com/orrery-io/orrery/services/internal/kinds"
)

// Every kind that has a service has an entry, made of the Go type with that kind's name.
func TestEveryKindHasAnEntry(t *testing.T) {
	entries := map[string]*Kind{}
	for _, k := range All() {
		if k.Plural == "" {
			t.Fatalf("the entry that makes %T is of no known kind", k.New())
		}
		id := k.APIVersion() + " " + k.Plural
		if entries[id] != nil {
			t.Errorf("%s has two entries", id)
		}
		entries[id] = k
	}
	for _, named := range kinds.All {
		k := entries[named.APIVersion()+" "+named.Plural]
		if k == nil {
			t.Errorf("%s %s has no entry", named.APIVersion(), named.Plural)
			continue
		}
		if k.NotStored == named.HasVerb("delete") {
			t.Errorf("%s %s: NotStored is %t", named.APIVersion(), named.Plural, k.NotStored)
		}
		if (k.Scale != nil) != named.HasSubresource("scale") {
			t.Errorf("%s %s: the scale subresource and the entry's Scale differ", named.APIVersion(), named.Plural)
		}
		if (k.SelectableFields == nil) != (len(k.FieldNames) == 0) {
			t.Errorf("%s %s: fields and their names differ", named.APIVersion(), named.Plural)
		}
	}
}
