package watchcache

import (
	"strings"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
)

// Filter selects objects. What it names exactly is looked up, not searched for.
type Filter struct {
	// Namespace "" is all of them.
	Namespace string
	// Name is one object: in Namespace, or at cluster scope, or (with Namespace "" on a namespaced type) of every namespace.
	Name string
	// Index, when HasIndex, is the value that the type's index must have.
	Index    string
	HasIndex bool
	// Match decides on the rest; nil takes everything.
	Match func(*object.Entry) bool
}

// compiled is a filter in terms of one cache's keys.
type compiled struct {
	Filter
	typ *Type
	// key is the one object that is asked for, "" when it is not known; under is the prefix of all keys that can match.
	key, under string
	suffix     string
}

func (f Filter) compile(t *Type, namespaced bool) compiled {
	c := compiled{Filter: f, typ: t, under: t.Prefix}
	if f.Namespace != "" {
		c.under = t.Prefix + f.Namespace + "/"
	}
	if f.Name != "" {
		if f.Namespace != "" || !namespaced {
			c.key = storage.Key(t.Prefix, f.Namespace, f.Name)
			c.under = c.key
		} else {
			c.suffix = "/" + f.Name
		}
	}
	return c
}

func (c *compiled) matches(e *object.Entry) bool {
	switch {
	case c.key != "" && e.Key != c.key,
		c.key == "" && !strings.HasPrefix(e.Key, c.under),
		c.suffix != "" && !strings.HasSuffix(e.Key, c.suffix),
		c.HasIndex && c.typ.IndexValue(e.Object) != c.Index:
		return false
	}
	return c.Match == nil || c.Match(e)
}

// see is what a watcher with this filter sees of an event: a change that enters the filter is ADDED, one that leaves it DELETED.
func (c *compiled) see(e *object.Event) (watch.EventType, bool) {
	is := !e.Deleted && c.matches(e.Entry)
	was := e.Prev != nil && c.matches(e.Prev)
	switch {
	case is && was:
		return watch.Modified, true
	case is:
		return watch.Added, true
	case was:
		return watch.Deleted, true
	}
	return "", false
}
