package kinds

import "sync"

type resourceKey struct{ group, version, name string }

type index struct {
	byResource, byKind map[resourceKey]int
	byService          map[string]int
}

// tables is built on first use: commands that never look a kind up do not pay for it.
var tables = sync.OnceValue(func() index {
	x := index{
		byResource: make(map[resourceKey]int, len(All)),
		byKind:     make(map[resourceKey]int, len(All)),
		byService:  make(map[string]int, len(All)),
	}
	for i, k := range All {
		x.byResource[resourceKey{k.Group, k.Version, k.Plural}] = i
		x.byKind[resourceKey{k.Group, k.Version, k.Kind}] = i
		x.byService[k.Service] = i
	}
	return x
})

// ByResource finds a kind by group, version and plural, e.g. ("apps", "v1", "deployments").
func ByResource(group, version, plural string) (Kind, bool) {
	i, ok := tables().byResource[resourceKey{group, version, plural}]
	return at(i, ok)
}

// ByKind finds a kind by group, version and kind, e.g. ("", "v1", "Pod").
func ByKind(group, version, kind string) (Kind, bool) {
	i, ok := tables().byKind[resourceKey{group, version, kind}]
	return at(i, ok)
}

// ByService finds a kind by its full protobuf service name, e.g. "orrery.core.v1.PodService".
func ByService(service string) (Kind, bool) {
	i, ok := tables().byService[service]
	return at(i, ok)
}

func at(i int, ok bool) (Kind, bool) {
	if !ok {
		return Kind{}, false
	}
	return All[i], true
}
