package podconfig

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Sources reads the objects that pods refer to. A missing one is a NotFound StatusError.
type Sources interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
}

// Host is what the node contributes to its pods.
type Host struct {
	NodeName string
	NodeIPs  []string
	// Dir holds a folder per pod (pods) and the logs (logs); empty means that nothing is written, as hollow nodes want it.
	Dir string
	// CgroupRoot is the cgroup of all pods, "/orrery-1a2b"; empty leaves it to the runtime.
	CgroupRoot string
	// ClusterDNS are the cluster's name servers; without any, pods use the host's.
	ClusterDNS    []string
	ClusterDomain string
	// ResolvConf is the host's resolver configuration.
	ResolvConf string
	// Allocatable stands in for limits that a container does not set.
	Allocatable corev1.ResourceList
}

// PodDir is the folder of a pod's volumes and files.
func (h Host) PodDir(uid types.UID) string { return filepath.Join(h.Dir, "pods", string(uid)) }

// LogDir is the folder of a pod's logs.
func (h Host) LogDir(namespace, name string, uid types.UID) string {
	if h.Dir == "" {
		return ""
	}
	return filepath.Join(h.Dir, "logs", "pods", namespace+"_"+name+"_"+string(uid))
}

// LogFile is a container's log inside its pod's LogDir.
func LogFile(container string, attempt int32) string {
	return filepath.Join(container, strconv.Itoa(int(attempt))+".log")
}

// CgroupParent is the pod's cgroup, which holds its containers'.
func (h Host) CgroupParent(uid types.UID) string {
	if h.CgroupRoot == "" {
		return ""
	}
	return fmt.Sprintf("%s/pod%s", h.CgroupRoot, uid)
}
