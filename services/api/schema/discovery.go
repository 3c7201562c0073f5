package schema

import (
	"crypto/sha256"
	"encoding/base64"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/registry"
)

// group is one API group; its first version is the preferred one.
type group struct {
	name     string
	versions []groupVersion
}

// groupVersion is one version of a group and its kinds.
type groupVersion struct {
	apischema.GroupVersion
	kinds []*registry.Kind
}

// groupsOf puts kinds into their groups and versions, in the order in which each first appears.
func groupsOf(kinds []*registry.Kind) []group {
	var out []group
	at := map[string]int{}
	for _, k := range kinds {
		i, ok := at[k.Group]
		if !ok {
			i = len(out)
			at[k.Group] = i
			out = append(out, group{name: k.Group})
		}
		g := &out[i]
		j := 0
		for j < len(g.versions) && g.versions[j].Version != k.Version {
			j++
		}
		if j == len(g.versions) {
			g.versions = append(g.versions, groupVersion{GroupVersion: apischema.GroupVersion{Group: k.Group, Version: k.Version}})
		}
		g.versions[j].kinds = append(g.versions[j].kinds, k)
	}
	return out
}

func v1(kind string) apischema.GroupVersionKind {
	return apischema.GroupVersionKind{Version: "v1", Kind: kind}
}

// discoveryRoot is /api or /apis, in the aggregated form for clients that ask for it.
func (d *Documents) discoveryRoot(path, accept, ifNoneMatch string) (Document, error) {
	if mediaType, ok := acceptsAggregated(accept); ok {
		return d.aggregated(path, mediaType, ifNoneMatch)
	}
	if path == "/api" {
		return d.object(path, accept, v1("APIVersions"), &metav1.APIVersions{
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{},
		})
	}
	list := &metav1.APIGroupList{}
	for _, g := range d.groups {
		if g.name != "" {
			list.Groups = append(list.Groups, g.discovery())
		}
	}
	return d.object(path, accept, v1("APIGroupList"), list)
}

func (g group) discovery() metav1.APIGroup {
	out := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: v.String(), Version: v.Version})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

func (d *Documents) discoveryGroup(name, accept string) (Document, bool, error) {
	for _, g := range d.groups {
		if g.name == name && name != "" {
			out := g.discovery()
			doc, err := d.object("/apis/"+name, accept, v1("APIGroup"), &out)
			return doc, true, err
		}
	}
	return Document{}, false, nil
}

func (d *Documents) discoveryVersion(name, version, accept string) (Document, bool, error) {
	for _, g := range d.groups {
		for _, v := range g.versions {
			if g.name == name && v.Version == version {
				doc, err := d.object("resources "+v.String(), accept, v1("APIResourceList"), v.resources())
				return doc, true, err
			}
		}
	}
	return Document{}, false, nil
}

// resources lists the kinds of a group version and their subresources.
func (v groupVersion) resources() *metav1.APIResourceList {
	list := &metav1.APIResourceList{GroupVersion: v.String(), APIResources: []metav1.APIResource{}}
	for _, k := range v.kinds {
		r := metav1.APIResource{
			Name: k.Plural, SingularName: k.Singular, Namespaced: k.Namespaced, Kind: k.Kind.Kind, Verbs: k.Verbs,
			ShortNames: k.ShortNames, Categories: k.Categories,
		}
		if !k.NotStored {
			r.StorageVersionHash = storageVersionHash(k)
		}
		list.APIResources = append(list.APIResources, r)
		for _, name := range k.Subresources {
			s, ok := k.Sub(name)
			if !ok {
				continue
			}
			sub := metav1.APIResource{Name: k.Plural + "/" + name, Namespaced: k.Namespaced, Kind: k.Kind.Kind, Verbs: s.Verbs}
			if s.Kind != "" {
				sub.Kind, sub.Version, sub.Group = s.Kind, s.Version, s.Group
				if s.Group == k.Group && s.Version == k.Version {
					sub.Version, sub.Group = "", ""
				}
			}
			list.APIResources = append(list.APIResources, sub)
		}
	}
	return list
}

// storageVersionHash changes when the stored version of a kind does.
func storageVersionHash(k *registry.Kind) string {
	group, version := k.Group, k.Version
	if k.Alias != nil {
		group, version = k.Alias.Group, k.Alias.Version
	}
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + k.Kind.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
