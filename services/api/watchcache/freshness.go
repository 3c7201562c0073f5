package watchcache

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Freshness says how new the state must be that a read sees. The zero value takes any.
type Freshness struct {
	// Latest is every write acknowledged before the read.
	Latest bool
	// AtLeast is a revision.
	AtLeast int64
}

// ParseFreshness is the meaning of a resourceVersion without a match rule: "" the latest, "0" any, N not older than N.
func ParseFreshness(resourceVersion string) (Freshness, error) {
	revision, err := ParseRevision(resourceVersion)
	return Freshness{Latest: resourceVersion == "", AtLeast: revision}, err
}

// ParseRevision reads a resourceVersion; "" is 0. The error is a 400.
func ParseRevision(resourceVersion string) (int64, error) {
	if resourceVersion == "" {
		return 0, nil
	}
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err == nil && revision < 0 {
		err = fmt.Errorf("%q is negative", resourceVersion)
	}
	if err != nil {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	return revision, nil
}

func (h *Hub) await(ctx context.Context, f Freshness) error {
	switch {
	case f.Latest:
		return h.Latest(ctx)
	case f.AtLeast > 0:
		return h.WaitFor(ctx, f.AtLeast)
	}
	return h.waitReady(ctx)
}

// ListOptions are what a list asks for.
type ListOptions struct {
	Filter
	// ResourceVersion and Match are those of metav1.ListOptions.
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	Limit           int64
	Continue        string
}

// state is the state that the options ask for: exactly revision, or the present one if it is fresh enough.
func (o *ListOptions) state() (exact int64, fresh Freshness, err error) {
	fresh, err = ParseFreshness(o.ResourceVersion)
	if err == nil && o.Match == metav1.ResourceVersionMatchExact {
		exact = fresh.AtLeast
	}
	return exact, fresh, err
}
