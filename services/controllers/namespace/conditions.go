package namespace

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions says in status how the deletion is getting on, one condition for each thing that can hold it up. Conditions that never were true
// are there all the same, so that a reader sees what was looked at.
func (c content) conditions(status *corev1.NamespaceStatus, now time.Time) {
	set := func(t corev1.NamespaceConditionType, bad bool, badReason, badMessage, goodReason, goodMessage string) {
		n := corev1.NamespaceCondition{Type: t, Status: corev1.ConditionFalse, Reason: goodReason, Message: goodMessage, LastTransitionTime: metav1.NewTime(now)}
		if bad {
			n.Status, n.Reason, n.Message = corev1.ConditionTrue, badReason, badMessage
		}
		i := slices.IndexFunc(status.Conditions, func(c corev1.NamespaceCondition) bool { return c.Type == t })
		if i < 0 {
			status.Conditions = append(status.Conditions, n)
			return
		}
		if status.Conditions[i].Status == n.Status {
			n.LastTransitionTime = status.Conditions[i].LastTransitionTime
		}
		status.Conditions[i] = n
	}
	discoveryMessage := ""
	if c.discovery != nil {
		discoveryMessage = "Discovery failed for some groups, 1 failing: " + c.discovery.Error()
	}
	set(corev1.NamespaceDeletionDiscoveryFailure, c.discovery != nil, "DiscoveryFailed", discoveryMessage,
		"ResourcesDiscovered", "All resources successfully discovered")
	set(corev1.NamespaceDeletionGVParsingFailure, false, "", "", "ParsedGroupVersions", "All legacy kube types successfully parsed")
	failedMessage := ""
	if len(c.failed) > 0 {
		failedMessage = fmt.Sprintf("Failed to delete all resource types, %d remaining: %v", len(c.failed), oneLine(errors.Join(c.failed...)))
	}
	set(corev1.NamespaceDeletionContentFailure, len(c.failed) > 0, "ContentDeletionFailed", failedMessage,
		"ContentDeleted", "All content successfully deleted, may be waiting on finalization")
	var left []string
	for r, n := range c.remaining {
		left = append(left, fmt.Sprintf("%s.%s has %d resource instances", r.Resource, r.Group, n))
	}
	slices.Sort(left)
	set(corev1.NamespaceContentRemaining, len(left) > 0, "SomeResourcesRemain", "Some resources are remaining: "+strings.Join(left, ", "),
		"ContentRemoved", "All content successfully removed")
	var kept []string
	for f, n := range c.finalizer {
		kept = append(kept, fmt.Sprintf("%s in %d resource instances", f, n))
	}
	slices.Sort(kept)
	set(corev1.NamespaceFinalizersRemaining, len(kept) > 0, "SomeFinalizersRemain", "Some content in the namespace has finalizers remaining: "+strings.Join(kept, ", "),
		"ContentHasNoFinalizers", "All content-preserving finalizers finished")
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ", ") }
