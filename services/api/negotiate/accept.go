package negotiate

import (
	"strings"

	"github.com/munnerz/goautoneg"
)

// Media types of objects.
const (
	JSON     = "application/json"
	YAML     = "application/yaml"
	Protobuf = "application/vnd.kubernetes.protobuf"
)

var (
	objectTypes = []string{JSON, YAML, Protobuf}
	watchTypes  = []string{JSON, Protobuf}
)

// As is a view that stands in for the object; "" is the object itself.
type As string

// Views of group meta.k8s.io, version v1.
const (
	AsTable       As = "Table"
	AsPartial     As = "PartialObjectMetadata"
	AsPartialList As = "PartialObjectMetadataList"
)

// Format is the encoding of an answer.
type Format struct {
	// MediaType is JSON, YAML or Protobuf.
	MediaType string
	As        As
	// Pretty indents JSON.
	Pretty bool
	// IncludeObject says what a table's rows carry: "None", "Metadata" (the default, "") or "Object".
	IncludeObject string
}

// Scope says which views an answer may have.
type Scope int

// Scopes.
const (
	// NoViews answers have none: discovery, statuses.
	NoViews Scope = iota
	// Single is one object: Table and PartialObjectMetadata.
	Single
	// Collection is a list: Table and PartialObjectMetadataList.
	Collection
	// Stream is a watch: Table and PartialObjectMetadata, in a media type that has frames.
	Stream
)

// Accept picks the best format that the Accept header value allows; an empty value means JSON. The error is 406 NotAcceptable.
func Accept(header string, scope Scope) (Format, error) {
	if header == "" || header == JSON {
		return Format{MediaType: JSON}, nil
	}
	offered := objectTypes
	if scope == Stream {
		offered = watchTypes
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		for _, t := range offered {
			if !covers(clause, t) {
				continue
			}
			if f, ok := withParams(Format{MediaType: t}, clause.Params, scope); ok {
				return f, nil
			}
		}
	}
	return Format{}, notAcceptable(offered)
}

// Covers says whether an Accept header value allows a media type; used for bodies that are no objects.
func Covers(header, mediaType string) bool {
	if header == "" {
		return true
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		if covers(clause, mediaType) {
			return true
		}
	}
	return false
}

func covers(clause goautoneg.Accept, mediaType string) bool {
	if clause.Q == 0 {
		return false
	}
	typ, sub, _ := strings.Cut(mediaType, "/")
	return clause.Type == typ && (clause.SubType == sub || clause.SubType == "*") || clause.Type == "*" && clause.SubType == "*"
}

func withParams(f Format, params map[string]string, scope Scope) (Format, bool) {
	as, group, version := params["as"], params["g"], params["v"]
	if as != "" {
		if group != "meta.k8s.io" || version != "v1" || !allows(scope, As(as), f.MediaType) {
			return f, false
		}
		f.As = As(as)
	}
	if p := params["pretty"]; p == "1" || p == "true" {
		f.Pretty = true
	}
	if s, ok := params["stream"]; ok && s != "watch" {
		return f, false
	}
	return f, true
}

func allows(scope Scope, as As, mediaType string) bool {
	switch as {
	case AsTable:
		// Table has no protobuf definition.
		return scope != NoViews && mediaType != Protobuf
	case AsPartial:
		return scope != NoViews
	case AsPartialList:
		return scope == Collection
	}
	return false
}

// Pretty says whether a request asks for indented JSON: by its pretty parameter, or, without one, because a person reads
// the answer of curl, wget or a browser.
func Pretty(param string, present bool, userAgent string) bool {
	if present {
		return param == "" || param == "1" || strings.EqualFold(param, "true")
	}
	return strings.HasPrefix(userAgent, "curl") || strings.HasPrefix(userAgent, "Wget") || strings.HasPrefix(userAgent, "Mozilla/5.0")
}

// ContentType is the value of the Content-Type header of an answer in this format.
func (f Format) ContentType() string { return f.MediaType }

// StreamContentType is that of a watch.
func (f Format) StreamContentType() string {
	if f.MediaType == JSON {
		return JSON
	}
	return f.MediaType + ";stream=watch"
}

// key names the format in caches of encodings.
func (f Format) key() string { return f.MediaType + ";as=" + string(f.As) }
