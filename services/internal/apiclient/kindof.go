package apiclient

import (
	"reflect"
	"strings"

	"github.com/orrery-io/orrery/services/internal/kinds"
)

// KindOf finds the kind of a k8s.io/api object by its Go type: objects that came over gRPC do not carry apiVersion and kind.
func KindOf(obj any) (kinds.Kind, bool) {
	t := reflect.TypeOf(obj)
	if t == nil {
		return kinds.Kind{}, false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg, ok := strings.CutPrefix(t.PkgPath(), "k8s.io/api/")
	if !ok {
		return kinds.Kind{}, false
	}
	pkg = "orrery." + strings.ReplaceAll(pkg, "/", ".")
	if pkg == "orrery.node.v1" {
		// The package orrery.node.v1 is the node agent's session.
		pkg = "orrery.runtimeclass.v1"
	}
	return kinds.ByService(pkg + "." + t.Name() + "Service")
}
