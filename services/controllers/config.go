package controllers

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// Config of the service.
type Config struct {
	// API is where the api is; the client certificate's name should be system:kube-controller-manager.
	API apiclient.Config
	// Identity names this process in the Lease. One that is the same after a restart gets its Lease back at once; it must then never be
	// used by two processes at a time. The hostname and something random when empty, which is always safe.
	Identity string
	// Enabled names the controllers to run; all when empty. See Names.
	Enabled []string
	// LeaderElect makes several processes agree on one that acts; without it this one acts at once.
	LeaderElect bool
	// LeaseDuration, RenewDeadline and RetryPeriod of the election; Kubernetes' 15 s, 10 s and 2 s when zero.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// NodeMonitorGracePeriod is how long a node may be silent before it is taken as unreachable; 40 s when zero.
	NodeMonitorGracePeriod time.Duration
	// RootCA is the api's certificate authority in PEM, published in every namespace; nothing is published when it is empty.
	RootCA []byte
	Clock  clock.WithTicker
	Logger *slog.Logger
}

func (c *Config) complete() error {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.API.UserAgent == "" {
		c.API.UserAgent = "kube-controller-manager"
	}
	if c.API.Service == "" {
		c.API.Service = "controllers"
	}
	if c.NodeMonitorGracePeriod == 0 {
		c.NodeMonitorGracePeriod = 40 * time.Second
	}
	if c.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("controllers: no identity given and no hostname to use instead: %w", err)
		}
		c.Identity = host + "_" + string(uuid.NewUUID())
	}
	if len(c.Enabled) == 0 {
		c.Enabled = Names()
	}
	for _, name := range c.Enabled {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("controllers: there is no controller %q; the controllers are %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}
