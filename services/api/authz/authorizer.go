package authz

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/object"
)

// Sources are the endpoints of the RBAC kinds.
type Sources struct {
	Roles, ClusterRoles, RoleBindings, ClusterRoleBindings endpoint.Interface
}

// RBAC authorizes by the RBAC objects. Until it is ready it allows system:masters alone.
type RBAC struct {
	sources Sources
	clock   clock.Clock
	index   atomic.Pointer[index]

	mu      sync.Mutex
	objects objects
	filled  int

	changed chan struct{}
	ready   chan struct{}
}

// NewRBAC makes an authorizer; Run feeds it.
func NewRBAC(s Sources, c clock.Clock) *RBAC {
	r := &RBAC{sources: s, clock: c, changed: make(chan struct{}, 1), ready: make(chan struct{})}
	r.objects = objects{
		roles: map[string]*rbacv1.Role{}, clusterRoles: map[string]*rbacv1.ClusterRole{},
		roleBindings: map[string]*rbacv1.RoleBinding{}, clusterRoleBindings: map[string]*rbacv1.ClusterRoleBinding{},
	}
	r.index.Store(newIndex(r.objects))
	return r
}

// Authorize implements Authorizer.
func (r *RBAC) Authorize(_ context.Context, user authn.User, a Attributes) (bool, string) {
	if user.InGroup(authn.GroupMasters) {
		return true, ""
	}
	d := r.index.Load().decide(user, a)
	return d.allowed, d.why
}

// Rules are all rules that apply to a user in a namespace, and at cluster scope.
func (r *RBAC) Rules(user authn.User, namespace string) []rbacv1.PolicyRule {
	if user.InGroup(authn.GroupMasters) {
		return []rbacv1.PolicyRule{
			{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
			{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
		}
	}
	var out []rbacv1.PolicyRule
	r.index.Load().each(user, namespace, func(g *grant) bool {
		out = append(out, g.rules...)
		return true
	})
	return out
}

// Ready is closed once the index reflects the objects that were there at the start.
func (r *RBAC) Ready() <-chan struct{} { return r.ready }

// Run follows the RBAC objects until ctx ends.
func (r *RBAC) Run(ctx context.Context) {
	var wg sync.WaitGroup
	follow := func(source endpoint.Interface, set func(map[string]object.Object), apply func(key string, obj object.Object)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r.follow(ctx, source, set, apply)
		}()
	}
	follow(r.sources.Roles, replaced(&r.objects.roles), applied(&r.objects.roles))
	follow(r.sources.ClusterRoles, replaced(&r.objects.clusterRoles), applied(&r.objects.clusterRoles))
	follow(r.sources.RoleBindings, replaced(&r.objects.roleBindings), applied(&r.objects.roleBindings))
	follow(r.sources.ClusterRoleBindings, replaced(&r.objects.clusterRoleBindings), applied(&r.objects.clusterRoleBindings))
	for done := false; !done; {
		select {
		case <-r.changed:
			r.rebuild()
		case <-ctx.Done():
			done = true
		}
	}
	wg.Wait()
}

// rebuild compiles the present objects. Changes that come meanwhile are one more rebuild, however many they are.
func (r *RBAC) rebuild() {
	r.mu.Lock()
	o := objects{maps.Clone(r.objects.roles), maps.Clone(r.objects.clusterRoles), maps.Clone(r.objects.roleBindings), maps.Clone(r.objects.clusterRoleBindings)}
	all := r.filled >= 4
	r.mu.Unlock()
	r.index.Store(newIndex(o))
	if all {
		select {
		case <-r.ready:
		default:
			close(r.ready)
		}
	}
}

func replaced[T object.Object](m *map[string]T) func(map[string]object.Object) {
	return func(all map[string]object.Object) {
		next := make(map[string]T, len(all))
		for k, o := range all {
			next[k] = o.(T)
		}
		*m = next
	}
}

func applied[T object.Object](m *map[string]T) func(string, object.Object) {
	return func(key string, obj object.Object) {
		if obj == nil {
			delete(*m, key)
			return
		}
		(*m)[key] = obj.(T)
	}
}

// follow keeps one kind current: the initial events replace all there was, later ones change it. A watch that ends is begun
// anew, with back-off when it failed.
func (r *RBAC) follow(ctx context.Context, source endpoint.Interface, set func(map[string]object.Object), apply func(string, object.Object)) {
	fresh := wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 5 * time.Second}
	backoff, counted := fresh, false
	for ctx.Err() == nil {
		filled, err := r.watchOnce(ctx, source, set, apply, &counted)
		if filled {
			backoff = fresh
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		slog.WarnContext(ctx, "watching RBAC objects", "error", err)
		timer := r.clock.NewTimer(backoff.Step())
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (r *RBAC) watchOnce(ctx context.Context, source endpoint.Interface, set func(map[string]object.Object), apply func(string, object.Object), counted *bool) (filled bool, err error) {
	w, err := source.Watch(ctx, "", metav1.ListOptions{
		AllowWatchBookmarks: true, SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return false, fmt.Errorf("opening the watch: %w", err)
	}
	defer w.Close()
	initial := map[string]object.Object{}
	for {
		e, err := w.Next(ctx)
		if err != nil {
			if isEnd(err) {
				return filled, nil
			}
			return filled, err
		}
		if e.Bookmark != nil {
			if e.Bookmark.InitialEventsEnd && !filled {
				filled = true
				r.change(func() {
					set(initial)
					if !*counted {
						*counted = true
						r.filled++
					}
				})
			}
			continue
		}
		obj := e.Entry.Object
		key := obj.GetNamespace() + "/" + obj.GetName()
		switch {
		case !filled:
			initial[key] = obj
		case e.Type == watch.Deleted:
			r.change(func() { apply(key, nil) })
		default:
			r.change(func() { apply(key, obj) })
		}
	}
}

func (r *RBAC) change(f func()) {
	r.mu.Lock()
	f()
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// isEnd tells a watch that ended in order from one that failed.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, io.EOF)
}
