package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/version"
)

// KubernetesVersion is the release whose behaviour the api has.
const KubernetesVersion = "v1.37.2"

// Version is what /version says. Revision and time are those of the build, where it recorded them.
func Version() version.Info {
	info := version.Info{
		Major: "1", Minor: "37", GitVersion: KubernetesVersion, GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
		BuildDate: "1970-01-01T00:00:00Z",
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			switch {
			case s.Key == "vcs.revision":
				info.GitCommit = s.Value
			case s.Key == "vcs.time":
				info.BuildDate = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				info.GitTreeState = "dirty"
			}
		}
	}
	return info
}

func versionJSON() ([]byte, error) {
	b, err := json.MarshalIndent(Version(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the version: %w", err)
	}
	return b, nil
}
