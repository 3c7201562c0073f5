package protogen

import (
	"fmt"
	"sort"
)

// file is one .proto file: a kind with all that only it uses, or types that several files share.
type file struct {
	pkg      *pkg
	name     string // without extension
	kind     string // the kind it serves, empty for shared types
	messages []*message
}

// path is the file's import path, "orrery/core/v1/pod.proto".
func (f *file) path() string { return f.pkg.dir() + "/" + f.name + ".proto" }

// layer names a shared file and the messages it starts from. A package's layers are filled in order, each with all
// that its messages reach and no earlier layer has; so a file imports only earlier ones and cycles cannot be.
type layer struct {
	name  string
	start []string
}

var layers = map[string][]layer{
	"orrery.core.v1": {
		{"reference", []string{"LocalObjectReference", "ObjectReference", "SecretReference", "TypedLocalObjectReference", "TypedObjectReference"}},
		{"selector", []string{"NodeSelector", "TopologySelectorTerm", "ConfigMapKeySelector", "SecretKeySelector", "ObjectFieldSelector", "ResourceFieldSelector", "FileKeySelector"}},
		{"volume", []string{"Volume"}},
		{"container", []string{"Container", "EphemeralContainer"}},
		{"pod_template_spec", []string{"PodTemplateSpec"}},
		{"options", []string{"PodLogOptions", "PodExecOptions", "PodAttachOptions", "PodPortForwardOptions", "PodProxyOptions", "NodeProxyOptions", "ServiceProxyOptions"}},
	},
	"orrery.meta.v1": {
		{"values", []string{"Quantity", "IntOrString", "RawExtension", "FieldsV1", "Duration", "MicroTime"}},
		{"object_meta", []string{"ObjectMeta", "ListMeta", "TypeMeta", "PartialObjectMetadataList", "List"}},
		{"selector", []string{"LabelSelector", "FieldSelectorRequirement"}},
		{"status", []string{"Status", "Condition"}},
		{"options", []string{"GetOptions", "ListOptions", "CreateOptions", "UpdateOptions", "PatchOptions", "ApplyOptions", "DeleteOptions", "TableOptions"}},
		{"discovery", []string{"APIGroupList", "APIResourceList", "APIVersions", "GroupVersionKind", "GroupVersionResource"}},
	},
}

// sharedFile is where a package's shared types go that no layer claims.
const sharedFile = "types"

// layout decides which file holds which message and returns the files, sorted by path.
func (u *universe) layout() ([]*file, map[*message]*file, error) {
	var files []*file
	home := map[*message]*file{}
	for i := range packages {
		p := &packages[i]
		var members []*message
		for _, m := range u.order {
			if m.pkg == p {
				members = append(members, m)
			}
		}
		fs, err := layoutPackage(p, members)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range fs {
			for _, m := range f.messages {
				home[m] = f
			}
		}
		files = append(files, fs...)
	}
	sort.Slice(files, func(i, j int) bool { return files[i].path() < files[j].path() })
	return files, home, checkCycles(files, home)
}

func layoutPackage(p *pkg, members []*message) ([]*file, error) {
	byName := map[string]*message{}
	for _, m := range members {
		byName[m.name] = m
	}
	// Who reaches what: a message that one kind alone reaches lives in that kind's file.
	owners := map[*message]map[string]bool{}
	own := func(root *message, owner string) {
		for _, m := range reach(p, root) {
			if owners[m] == nil {
				owners[m] = map[string]bool{}
			}
			owners[m][owner] = true
		}
	}
	kindRoots := map[*message]bool{}
	for _, e := range p.kinds {
		for _, n := range []string{e.Kind, e.Kind + "List"} {
			if m := byName[n]; m != nil {
				kindRoots[m] = true
				own(m, e.Kind)
			}
		}
	}
	for _, m := range members {
		if !kindRoots[m] && len(owners[m]) == 0 {
			own(m, "")
		}
	}
	files := map[string]*file{}
	placed := map[*message]bool{}
	put := func(name, kind string, m *message) {
		if placed[m] {
			return
		}
		placed[m] = true
		if files[name] == nil {
			files[name] = &file{pkg: p, name: name, kind: kind}
		}
		files[name].messages = append(files[name].messages, m)
	}
	for _, e := range p.kinds {
		for _, m := range members {
			if kindRoots[m] && (m.name == e.Kind || m.name == e.Kind+"List") || len(owners[m]) == 1 && owners[m][e.Kind] {
				put(fileName(e.Kind), e.Kind, m)
			}
		}
	}
	for _, l := range layers[p.protoPackage()] {
		for _, n := range l.start {
			root := byName[n]
			if root == nil {
				continue
			}
			for _, m := range reach(p, root) {
				put(l.name, "", m)
			}
		}
	}
	for _, m := range members {
		put(sharedFile, "", m)
	}
	var out []*file
	for _, f := range files {
		sortMessages(f)
		out = append(out, f)
	}
	return out, nil
}

// reach lists the messages of the package that root leads to, itself first, breadth first.
func reach(p *pkg, root *message) []*message {
	out := []*message{root}
	seen := map[*message]bool{root: true}
	for i := 0; i < len(out); i++ {
		for _, f := range out[i].fields {
			if f.ref != nil && f.ref.pkg == p && !seen[f.ref] {
				seen[f.ref] = true
				out = append(out, f.ref)
			}
		}
	}
	return out
}

// sortMessages puts a kind and its list first, the rest in alphabetical order.
func sortMessages(f *file) {
	rank := func(m *message) int {
		switch m.name {
		case f.kind:
			return 0
		case f.kind + "List":
			return 1
		}
		return 2
	}
	sort.Slice(f.messages, func(i, j int) bool {
		a, b := f.messages[i], f.messages[j]
		if ra, rb := rank(a), rank(b); ra != rb {
			return ra < rb
		}
		return a.name < b.name
	})
}

// checkCycles refuses files that import each other: protobuf has no such thing.
func checkCycles(files []*file, home map[*message]*file) error {
	const open, done = 1, 2
	state := map[*file]int{}
	var visit func(f *file) error
	visit = func(f *file) error {
		state[f] = open
		for _, m := range f.messages {
			for _, fd := range m.fields {
				if fd.ref == nil || home[fd.ref] == f {
					continue
				}
				next := home[fd.ref]
				if state[next] == open {
					return fmt.Errorf("%s and %s import each other (through %s.%s); give the types a layer in layout.go", f.path(), next.path(), m.name, fd.name)
				}
				if state[next] == 0 {
					if err := visit(next); err != nil {
						return err
					}
				}
			}
		}
		state[f] = done
		return nil
	}
	for _, f := range files {
		if state[f] == 0 {
			if err := visit(f); err != nil {
				return err
			}
		}
	}
	return nil
}
