package podstate

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// State of a container.
type State int

// States, as CRI has them.
const (
	Unknown State = iota
	Created
	Running
	Exited
)

// Container is one instance of a container; each restart makes another.
type Container struct {
	ID, Name, SandboxID string
	// Attempt is the restart count that this instance has.
	Attempt int32
	Hash    string
	State   State
	// Image is the name it was started from, ImageRef the digest reference.
	Image, ImageRef                  string
	CreatedAt, StartedAt, FinishedAt time.Time
	ExitCode                         int32
	Reason, Message                  string
	LogPath                          string
	Annotations                      map[string]string
	User                             *runtimeapi.ContainerUser
}

// Sandbox is one instance of a pod's sandbox.
type Sandbox struct {
	ID        string
	Attempt   uint32
	Ready     bool
	CreatedAt time.Time
	// IPs are the pod's addresses; none with the host's network or when the sandbox is not ready.
	IPs         []string
	HostNetwork bool
}

// Pod is all that the runtime has of one pod, each list with the newest first.
type Pod struct {
	UID             types.UID
	Namespace, Name string
	Sandboxes       []Sandbox
	Containers      []Container
}

// Latest is the newest instance of the named container, or nil.
func (p *Pod) Latest(name string) *Container {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return &p.Containers[i]
		}
	}
	return nil
}

// Previous is the instance before the newest, or nil.
func (p *Pod) Previous(name string) *Container {
	seen := false
	for i := range p.Containers {
		if p.Containers[i].Name != name {
			continue
		}
		if seen {
			return &p.Containers[i]
		}
		seen = true
	}
	return nil
}

// Running lists the containers that run.
func (p *Pod) Running() []*Container {
	var out []*Container
	for i := range p.Containers {
		if p.Containers[i].State == Running {
			out = append(out, &p.Containers[i])
		}
	}
	return out
}

// ReadySandbox is the newest sandbox if it is ready, else nil.
func (p *Pod) ReadySandbox() *Sandbox {
	if len(p.Sandboxes) > 0 && p.Sandboxes[0].Ready {
		return &p.Sandboxes[0]
	}
	return nil
}

// Empty tells that the runtime has nothing of the pod.
func (p *Pod) Empty() bool { return len(p.Sandboxes) == 0 && len(p.Containers) == 0 }
