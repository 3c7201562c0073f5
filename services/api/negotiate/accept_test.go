package negotiate

import "testing"

func TestAccept(t *testing.T) {
	for name, tc := range map[string]struct {
		header string
		scope  Scope
		want   Format
		fails  bool
	}{
		"nothing":           {"", Single, Format{MediaType: JSON}, false},
		"anything":          {"*/*", Single, Format{MediaType: JSON}, false},
		"any application":   {"application/*", Single, Format{MediaType: JSON}, false},
		"best quality":      {"application/json;q=0.5,application/yaml;q=0.8", Single, Format{MediaType: YAML}, false},
		"refused":           {"application/json;q=0", Single, Format{}, true},
		"client-go":         {"application/vnd.kubernetes.protobuf,application/json", Single, Format{MediaType: Protobuf}, false},
		"kubectl":           {"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Collection, Format{MediaType: JSON, As: AsTable}, false},
		"table in protobuf": {"application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json", Single, Format{MediaType: JSON}, false},
		"table of nothing":  {"application/json;as=Table;v=v1;g=meta.k8s.io", NoViews, Format{}, true},
		"old table":         {"application/json;as=Table;v=v1beta1;g=meta.k8s.io", Single, Format{}, true},
		"list of one":       {"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json", Single, Format{MediaType: JSON}, false},
		"metadata":          {"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Stream, Format{MediaType: Protobuf, As: AsPartial}, false},
		"stream":            {"application/json;stream=watch", Stream, Format{MediaType: JSON}, false},
		"other stream":      {"application/json;stream=other", Stream, Format{}, true},
		"yaml has no watch": {"application/yaml", Stream, Format{}, true},
		"pretty":            {"application/json;pretty=1", Single, Format{MediaType: JSON, Pretty: true}, false},
		"html":              {"text/html", Single, Format{}, true},
		"nonsense":          {";;,=,/", Single, Format{}, true},
	} {
		got, err := Accept(tc.header, tc.scope)
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
	}
}

func FuzzAccept(f *testing.F) {
	f.Add("application/json;as=Table;v=v1;g=meta.k8s.io;q=0.3,*/*")
	f.Fuzz(func(t *testing.T, header string) {
		for s := NoViews; s <= Stream; s++ {
			if got, err := Accept(header, s); err == nil && got.MediaType == "" {
				t.Errorf("%q: no media type and no error", header)
			}
		}
	})
}
