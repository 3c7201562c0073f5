package protogen

import (
	"strings"
	"unicode"
)

// snakeCase turns a JSON name into a protobuf field name: "clusterIPs" to "cluster_ips", "x-kubernetes-map-type" to
// "x_kubernetes_map_type", "$ref" to "ref". A run of capitals is one word, with a plural s at its end.
func snakeCase(s string) string {
	var words []string
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		words = append(words, splitCamel([]rune(part))...)
	}
	return strings.ToLower(strings.Join(words, "_"))
}

func splitCamel(r []rune) []string {
	var words []string
	start := 0
	for i := 1; i < len(r); i++ {
		if !unicode.IsUpper(r[i]) {
			continue
		}
		prevUpper := unicode.IsUpper(r[i-1])
		nextLower := i+1 < len(r) && unicode.IsLower(r[i+1])
		// "IPs" and "URLs": an s that ends the run, or the name, belongs to it.
		if nextLower && r[i+1] == 's' && prevUpper && (i+2 == len(r) || unicode.IsUpper(r[i+2])) {
			nextLower = false
		}
		if !prevUpper || nextLower {
			words = append(words, string(r[start:i]))
			start = i
		}
	}
	return append(words, string(r[start:]))
}

// defaultJSONName is the JSON name that protobuf derives from a field name when none is given.
func defaultJSONName(name string) string {
	var b strings.Builder
	up := false
	for _, r := range name {
		if r == '_' {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// fileName is the name of a kind's or a type's file: "PersistentVolume" to "persistent_volume".
func fileName(kind string) string { return snakeCase(kind) }
