package node

import (
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

func TestBadConfigurationIsNamed(t *testing.T) {
	good := Config{Name: "n1", DataDir: "/tmp/x", API: apiclient.Config{Addresses: []string{"127.0.0.1:1"}}}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		change func(*Config)
		want   string
	}{
		"name":     {func(c *Config) { c.Name = "Not_A_Name" }, `node name "Not_A_Name"`},
		"api":      {func(c *Config) { c.API.Addresses = nil }, "no api address given"},
		"runtime":  {func(c *Config) { c.Runtime = "docker" }, `runtime "docker": want auto, containerd or simulated`},
		"cidr":     {func(c *Config) { c.PodCIDR = "10.0.0.0" }, `pod CIDR "10.0.0.0"`},
		"ip":       {func(c *Config) { c.NodeIP = "here" }, `node IP "here" is not an address`},
		"mirror":   {func(c *Config) { c.RegistryMirrors = []string{"docker.io=http://"} }, `registry mirror "docker.io=http://" is not HOST=URL`},
		"dir":      {func(c *Config) { c.DataDir = "" }, "no data folder given"},
		"endpoint": {func(c *Config) { c.Runtime = RuntimeSimulated; c.RuntimeEndpoint = "/run/x.sock" }, "exclude each other"},
	}
	for name, test := range tests {
		config := good
		test.change(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
