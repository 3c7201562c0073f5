package tables

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/clock"
)

// Rows makes the cells of objects; ages are relative to its clock.
type Rows struct{ clock clock.PassiveClock }

// New is Rows by a clock.
func New(c clock.PassiveClock) Rows { return Rows{clock: c} }

// What stands for a value that is not there.
const (
	none    = "<none>"
	unknown = "<unknown>"
	unset   = "<unset>"
)

var (
	nameColumn      = metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Description: "Name of the object, unique for its kind in its namespace."}
	ageColumn       = column("Age", "string", "Time since the object was created.")
	containerColumn = wide("Containers", "string", "Names of the containers in the pod template.")
	imageColumn     = wide("Images", "string", "Images of the containers in the pod template.")
	selectorColumn  = wide("Selector", "string", "Labels that select the pods.")
)

func column(name, kind, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: kind, Description: description}
}

// wide is a column that is shown only when asked for.
func wide(name, kind, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: kind, Description: description, Priority: 1}
}

func (r Rows) age(obj metav1.Object) string { return r.since(obj.GetCreationTimestamp().Time) }

func (r Rows) since(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(r.clock.Since(t))
}

func or[T ~string](value T, fallback string) string {
	if value == "" {
		return fallback
	}
	return string(value)
}

func pointerOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

// containerCells are the names and the images of containers.
func containerCells(containers []corev1.Container) (names, images string) {
	n := make([]string, len(containers))
	m := make([]string, len(containers))
	for i := range containers {
		n[i], m[i] = containers[i].Name, containers[i].Image
	}
	return strings.Join(n, ","), strings.Join(m, ",")
}

// firstFew joins the first max items and counts the others.
func firstFew(items []string, max int, separator string) string {
	if len(items) <= max {
		return strings.Join(items, separator)
	}
	return fmt.Sprintf("%s + %d more...", strings.Join(items[:max], separator), len(items)-max)
}

func labelsCell(set map[string]string) string { return labels.FormatLabels(set) }

func selectorCell(s *metav1.LabelSelector) string { return metav1.FormatLabelSelector(s) }
