package endpoint

import (
	"context"
	"errors"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry"
	"github.com/orrery-io/orrery/services/store/kv"
)

// claims is what one write holds of the things that only one object in the cluster may have; see registry.Kind.Claim.
type claims struct {
	kind *registry.Kind
	undo func()
	// old and obj are those of the last attempt; obj is nil for a deletion.
	old, obj object.Object
}

// take reserves for an attempt to make obj of old, in place of what an earlier attempt reserved.
func (c *claims) take(ctx context.Context, obj, old object.Object) error {
	c.giveBack()
	c.old, c.obj = old, obj
	if c.kind.Claim == nil || obj == nil {
		return nil
	}
	var err error
	c.undo, err = c.kind.Claim(ctx, obj, old)
	return err
}

func (c *claims) giveBack() {
	if c.undo != nil {
		c.undo()
		c.undo = nil
	}
}

// settle is called with the write's outcome. One that is not known keeps what it reserved: it may be in use.
func (c *claims) settle(ctx context.Context, err error, dryRun bool) {
	switch {
	case err == nil && !dryRun:
		if c.kind.Release != nil && c.old != nil {
			c.kind.Release(ctx, c.old, c.obj)
		}
	case errors.Is(err, kv.ErrOutcomeUnknown), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		c.giveBack()
	}
}
