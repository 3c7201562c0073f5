package replicaset

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// expectations are what the controller did and the cache has yet to show, per ReplicaSet. A created pod is shown when the cache has
// reached its revision; a deleted one (by uid) when it is gone from the cache or marked there. Both are looked up, not counted
// from events, so that nothing can be missed and nothing has to expire.
type expectations struct {
	creations controller.Written

	mu        sync.Mutex
	deletions map[string]map[types.UID]string // ReplicaSet key -> uid -> pod key
	doubts    map[string]bool
}

func (e *expectations) created(key string, pod *corev1.Pod) {
	e.creations.Note(key, pod.ResourceVersion)
}

func (e *expectations) deleted(key string, pod *corev1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.deletions == nil {
		e.deletions = map[string]map[types.UID]string{}
	}
	if e.deletions[key] == nil {
		e.deletions[key] = map[types.UID]string{}
	}
	e.deletions[key][pod.UID] = informer.Key(pod)
}

// doubt notes that a create for key may or may not have happened.
func (e *expectations) doubt(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.doubts == nil {
		e.doubts = map[string]bool{}
	}
	e.doubts[key] = true
}

func (e *expectations) uncertain(key string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.doubts[key]
}

func (e *expectations) certain(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.doubts, key)
}

// cache is what satisfied needs of the informer of pods.
type cache interface {
	Revision() string
	Get(key string) (*corev1.Pod, bool)
}

func (e *expectations) satisfied(key string, pods cache) bool {
	if !e.creations.Seen(key, pods.Revision()) {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid, podKey := range e.deletions[key] {
		if pod, ok := pods.Get(podKey); !ok || pod.UID != uid || pod.DeletionTimestamp != nil {
			delete(e.deletions[key], uid)
		}
	}
	if len(e.deletions[key]) > 0 {
		return false
	}
	delete(e.deletions, key)
	return true
}

func (e *expectations) forget(key string) {
	e.creations.Forget(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.deletions, key)
	delete(e.doubts, key)
}
