package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/admission"
	"github.com/orrery-io/orrery/services/api/authz"
	"github.com/orrery-io/orrery/services/api/bootstrap"
	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/nodesession"
	"github.com/orrery-io/orrery/services/api/registry"
	"github.com/orrery-io/orrery/services/api/registry/allocation"
	"github.com/orrery-io/orrery/services/api/schema"
	"github.com/orrery-io/orrery/services/api/server"
	"github.com/orrery-io/orrery/services/api/storage"
	"github.com/orrery-io/orrery/services/api/watchcache"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

// Service is one instance of the api.
type Service struct {
	config    Config
	log       *slog.Logger
	listener  net.Listener
	kv        kv.KV
	closeKV   func() error
	store     *storage.Store
	hub       *watchcache.Hub
	endpoints *endpoint.Set
	rbac      *authz.RBAC
	nodes     *nodesession.Nodes
	server    *server.Server
	ready     chan struct{}
}

// New opens the listener and puts the service together; the store need not be up yet. Run serves; without Run, call Close.
func New(config Config) (*Service, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	s := &Service{config: config, log: config.Logger.With("service", "api"), listener: config.Listener, kv: config.KV,
		closeKV: func() error { return nil }, ready: make(chan struct{})}
	if s.listener == nil {
		l, err := net.Listen("tcp", config.ListenAddr)
		if err != nil {
			return nil, fmt.Errorf("api: cannot listen on %s (is another api running, or the port taken? choose another with --listen): %w", config.ListenAddr, err)
		}
		s.listener = l
	}
	if s.kv == nil {
		c, err := client.New(client.Config{Endpoints: config.StoreEndpoints, TLS: config.StoreTLS})
		if err != nil {
			return nil, errors.Join(fmt.Errorf("api: %w", err), s.listener.Close())
		}
		s.kv, s.closeKV = c, c.Close
	}
	claims, err := allocation.New(allocation.Config{KV: s.kv, Addresses: config.ServiceAddresses, Clock: config.Clock, Log: s.log})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("api: %w", err), s.Close())
	}
	s.assemble(claims)
	return s, nil
}

func (s *Service) assemble(claims *allocation.Services) {
	entries := registry.NewAll(registry.Options{Clock: s.config.Clock, Services: claims})
	s.store = storage.New(s.kv, s.config.Clock)
	s.hub = watchcache.NewHub(s.kv, endpoint.CacheTypes(entries), watchcache.Options{Clock: s.config.Clock, Log: s.log, Handover: s.store.Handover()})
	admit := admission.NewChain(admission.NewNamespaceLifecycle(endpoint.Namespaces(s.hub, s.store)))
	s.endpoints = endpoint.NewSet(entries, s.hub, s.store, admit, s.config.Clock)
	const rbac = "rbac.authorization.k8s.io"
	s.rbac = authz.NewRBAC(authz.Sources{
		Roles: s.endpoint(rbac, "roles"), ClusterRoles: s.endpoint(rbac, "clusterroles"),
		RoleBindings: s.endpoint(rbac, "rolebindings"), ClusterRoleBindings: s.endpoint(rbac, "clusterrolebindings"),
	}, s.config.Clock)
	s.nodes = nodesession.New(nodesession.Config{Pods: s.endpoint("", "pods"), Authorizer: s.rbac, Clock: s.config.Clock, Logger: s.log})
	s.server = server.New(server.Config{
		Kinds: entries, Endpoint: s.forKind, Answers: s.answers(), Documents: schema.New(entries),
		Logs: s.nodes.Logs, Register: s.nodes.Register, TLS: s.config.ServerTLS, Authorizer: s.rbac,
	})
}

// forKind is the endpoint of a kind; the nil interface where there is none.
func (s *Service) forKind(k *registry.Kind) endpoint.Interface {
	if e, ok := s.endpoints.Find(k.Group, k.Version, k.Plural); ok {
		return e
	}
	return nil
}

func (s *Service) endpoint(group, resource string) endpoint.Interface {
	e, _ := s.endpoints.Find(group, "v1", resource)
	return e
}

// answers are the kinds that are answered when they are created.
func (s *Service) answers() map[apischema.GroupResource]server.Answerer {
	const authentication, authorization = "authentication.k8s.io", "authorization.k8s.io"
	r := authz.Reviews{Authorizer: s.rbac, Rules: s.rbac}
	return map[apischema.GroupResource]server.Answerer{
		{Group: authentication, Resource: "selfsubjectreviews"}:       r.SelfSubjectReview,
		{Group: authorization, Resource: "selfsubjectaccessreviews"}:  r.SelfSubjectAccessReview,
		{Group: authorization, Resource: "selfsubjectrulesreviews"}:   r.SelfSubjectRulesReview,
		{Group: authorization, Resource: "subjectaccessreviews"}:      r.SubjectAccessReview,
		{Group: authorization, Resource: "localsubjectaccessreviews"}: r.LocalSubjectAccessReview,
		{Resource: "bindings"}: server.Bindings(s.endpoint("", "pods")),
	}
}

// Addr is the address that the service listens on.
func (s *Service) Addr() string { return s.listener.Addr().String() }

// Ready is closed when the caches are filled, the bootstrap objects exist and calls are answered.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Close gives up a service that was never run.
func (s *Service) Close() error { return errors.Join(s.listener.Close(), s.closeKV()) }

// Run serves until ctx ends, then drains: watches end first, running requests are waited for up to Config.DrainTimeout.
func (s *Service) Run(ctx context.Context) error {
	// The caches outlive ctx by the time of draining: requests that are still running read them.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	failed := make(chan error, 2)
	running.Go(func() {
		if err := s.hub.Run(inner); err != nil && inner.Err() == nil {
			failed <- fmt.Errorf("api: following the store: %w", err)
		}
	})
	running.Go(func() { s.rbac.Run(inner) })
	served := make(chan error, 1)
	starting, stopStarting := context.WithCancel(ctx)
	running.Go(func() {
		if err := s.start(starting); err != nil && starting.Err() == nil {
			failed <- err
		}
	})
	running.Go(func() { served <- s.server.Serve(s.listener) })
	s.log.Info("serving", "addr", s.Addr())

	var err error
	select {
	case err = <-failed:
	case err = <-served:
		err = fmt.Errorf("api: serving %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	stopStarting()
	s.nodes.Close()
	drain, cancel := context.WithTimeout(inner, s.config.DrainTimeout)
	s.server.Shutdown(drain)
	cancel()
	stop()
	running.Wait()
	return errors.Join(err, s.closeKV())
}

// start waits for the caches, makes the bootstrap objects and says that the service is ready.
func (s *Service) start(ctx context.Context) error {
	begin := s.config.Clock.Now()
	select {
	case <-s.hub.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.bootstrap(ctx); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	select {
	case <-s.rbac.Ready():
	case <-ctx.Done():
		return ctx.Err()
	}
	s.server.SetReady(true)
	close(s.ready)
	s.log.Info("ready", "after", s.config.Clock.Since(begin).Round(time.Millisecond))
	return nil
}

// bootstrap tries until the store takes the writes: it may have no leader yet.
func (s *Service) bootstrap(ctx context.Context) error {
	find := func(group, version, resource string) (endpoint.Interface, bool) {
		return s.endpoints.Find(group, version, resource)
	}
	for {
		err := bootstrap.Run(ctx, find)
		if err == nil || !bootstrap.Retriable(err) {
			return err
		}
		s.log.Warn("the bootstrap objects could not be made yet", "error", err)
		timer := s.config.Clock.NewTimer(time.Second)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
