package protogen

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// message is one protobuf message and the Go type it mirrors.
type message struct {
	name   string
	pkg    *pkg
	goType reflect.Type
	fields []field
	usedBy []string // "PodSpec.containers": the fields that hold it, in the order found
}

// fullName is the message's protobuf name, "orrery.core.v1.Pod".
func (m *message) fullName() string { return m.pkg.protoPackage() + "." + m.name }

// field is one protobuf field.
type field struct {
	name     string
	jsonName string
	number   int
	scalar   string   // "string", "google.protobuf.Timestamp"; empty when ref is set
	ref      *message // message type
	repeated bool
	mapped   bool // map<string, T>
	optional bool // explicit presence
	unpacked bool // repeated number: one tag each, as Kubernetes writes them
	comment  string
	jsonTag  string // the Kubernetes JSON name, empty where JSON has none (inlined or hidden)
}

const timestamp = "google.protobuf.Timestamp"

// universe holds all messages while they are collected.
type universe struct {
	byType map[reflect.Type]*message
	byPath map[string]*pkg
	order  []*message
}

// collect reads every package of the table and everything reachable from it.
func collect() (*universe, error) {
	u := &universe{byType: map[reflect.Type]*message{}, byPath: map[string]*pkg{}}
	for i := range packages {
		p := &packages[i]
		u.byPath[p.goPath] = p
		if p.name == "meta" {
			for path := range metaPaths {
				u.byPath[path] = p
			}
		}
	}
	for i := range packages {
		ts, err := roots(&packages[i])
		if err != nil {
			return nil, err
		}
		for _, t := range ts {
			if _, err := u.visit(t); err != nil {
				return nil, err
			}
		}
	}
	return u, u.checkNames()
}

// visit returns the message of a Go type, making it on the first visit. Recursive types end here: the message is
// known before its fields are read.
func (u *universe) visit(t reflect.Type) (*message, error) {
	if m, ok := u.byType[t]; ok {
		return m, nil
	}
	p, ok := u.byPath[t.PkgPath()]
	if !ok {
		return nil, fmt.Errorf("%s.%s: no protobuf package for this Go package; add it to table.go", t.PkgPath(), t.Name())
	}
	m := &message{name: t.Name(), pkg: p, goType: t}
	u.byType[t] = m
	u.order = append(u.order, m)
	var err error
	switch {
	case t == quantityType: // marshals itself as its canonical string
		m.fields = []field{{name: "string", jsonName: "string", number: 1, scalar: "string"}}
	case t == fieldsV1Type:
		m.fields = []field{{name: "raw", jsonName: "raw", number: 1, scalar: "bytes", optional: true}}
	case t.Kind() == reflect.Slice: // named slice with a Marshal of its own
		f := field{name: "items", jsonName: "items", number: 1, repeated: true}
		err = u.setType(&f, t.Elem())
		m.fields = []field{f}
	case t.Kind() == reflect.Struct:
		m.fields, err = u.fields(t)
	default:
		err = fmt.Errorf("a %s cannot be a message", t.Kind())
	}
	if err != nil {
		return nil, fmt.Errorf("%s.%s: %w", t.PkgPath(), t.Name(), err)
	}
	for _, f := range m.fields {
		if f.ref != nil {
			f.ref.usedBy = append(f.ref.usedBy, m.name+"."+f.name)
		}
	}
	return m, nil
}

// fields reads the struct tags of t, in the order of field numbers.
func (u *universe) fields(t reflect.Type) ([]field, error) {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, ok := sf.Tag.Lookup("protobuf")
		if !ok || tag == "-" {
			jsonName, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
			// TypeMeta travels outside the object; all else that JSON shows must be on the wire too.
			if !ok && sf.Type != typeMetaType && sf.IsExported() && jsonName != "" && jsonName != "-" {
				return nil, fmt.Errorf("field %s has no protobuf tag", sf.Name)
			}
			continue
		}
		f, err := u.field(sf, tag)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", sf.Name, err)
		}
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].number < out[j].number })
	for i := 1; i < len(out); i++ {
		if out[i].number == out[i-1].number {
			return nil, fmt.Errorf("fields %s and %s share number %d", out[i-1].name, out[i].name, out[i].number)
		}
	}
	return out, nil
}

// field reads one tagged struct field. The tag gives number and name ("bytes,3,opt,name=clusterIP"); the type comes
// from Go, because the tag's wire type is a guess in places (a float64 is tagged "bytes").
func (u *universe) field(sf reflect.StructField, tag string) (field, error) {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return field{}, fmt.Errorf("protobuf tag %q has no field number", tag)
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 1 {
		return field{}, fmt.Errorf("protobuf tag %q: bad field number", tag)
	}
	protoName := lowerFirst(sf.Name)
	for _, p := range parts[2:] {
		if v, ok := strings.CutPrefix(p, "name="); ok {
			protoName = lowerFirst(v)
		}
	}
	f := field{number: n, jsonName: protoName}
	jsonName, jsonOpts, _ := strings.Cut(sf.Tag.Get("json"), ",")
	switch {
	case jsonName == "-":
	case jsonName != "":
		f.jsonName, f.jsonTag = jsonName, jsonName
	case sf.Anonymous || strings.Contains(jsonOpts, "inline"):
		f.comment = "In JSON its fields stand in the parent itself."
	}
	f.name = snakeCase(f.jsonName)
	return f, u.setType(&f, sf.Type)
}

// setType fills in the type of a field from its Go type.
func (u *universe) setType(f *field, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
		f.optional = true
	}
	switch {
	case t == timeType:
		f.scalar, f.optional = timestamp, false
		return nil
	case t == microTimeType:
		f.scalar, f.optional = timestamp, false
		f.comment = "Holds microseconds."
		return nil
	case isMessage(t):
		m, err := u.visit(t)
		f.ref, f.optional = m, false
		return err
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			f.scalar, f.optional = "bytes", !f.repeated && !f.mapped
			return nil
		}
		if f.repeated || f.mapped {
			return fmt.Errorf("nested list %s", t)
		}
		f.repeated = true
		err := u.setType(f, t.Elem())
		f.optional = false
		f.unpacked = f.ref == nil && f.scalar != "string" && f.scalar != "bytes" && f.scalar != timestamp
		return err
	case reflect.Map:
		if t.Key().Kind() != reflect.String || f.repeated || f.mapped {
			return fmt.Errorf("unsupported map %s", t)
		}
		f.mapped = true
		err := u.setType(f, t.Elem())
		f.optional = false
		return err
	}
	s, ok := scalars[t.Kind()]
	if !ok {
		return fmt.Errorf("no protobuf type for Go type %s", t)
	}
	f.scalar = s
	return nil
}

var scalars = map[reflect.Kind]string{
	reflect.Bool: "bool", reflect.String: "string", reflect.Int32: "int32", reflect.Int64: "int64", reflect.Int: "int64",
	reflect.Uint32: "uint32", reflect.Uint64: "uint64", reflect.Float32: "float", reflect.Float64: "double",
}

// isMessage says whether a Go type is a message on Kubernetes' wire: structs, and named slices that marshal themselves.
func isMessage(t reflect.Type) bool {
	if t.Kind() == reflect.Struct {
		return true
	}
	_, marshals := reflect.PointerTo(t).MethodByName("Marshal")
	return t.Kind() == reflect.Slice && t.Name() != "" && marshals
}

// checkNames refuses two Go types that would become one message.
func (u *universe) checkNames() error {
	seen := map[string]*message{}
	for _, m := range u.order {
		if o, ok := seen[m.fullName()]; ok {
			return fmt.Errorf("%s and %s would both be %s", o.goType, m.goType, m.fullName())
		}
		seen[m.fullName()] = m
	}
	return nil
}
