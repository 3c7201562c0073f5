package storage

import "strings"

// Root is the prefix of all objects. Below it a built-in kind has the folder of its plural:
//
//	/registry/pods/default/web-0        a namespaced object
//	/registry/nodes/worker-1            an object at cluster scope
const Root = "/registry/"

// Key is where an object lives: prefix (a kind's, with a slash at the end), namespace when it has one, name.
func Key(prefix, namespace, name string) string {
	if namespace == "" {
		return prefix + name
	}
	return prefix + namespace + "/" + name
}

// SplitKey is Key's inverse for a key below prefix.
func SplitKey(prefix, key string) (namespace, name string) {
	rest := strings.TrimPrefix(key, prefix)
	if namespace, name, ok := strings.Cut(rest, "/"); ok {
		return namespace, name
	}
	return "", rest
}
