package prober

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/node/cri"
)

// Hook runs a postStart or preStop handler to its end, or until ctx is over.
func (c *Checker) Hook(ctx context.Context, target Target, handler *corev1.LifecycleHandler) error {
	if _, simulated := c.runtime.(cri.ProbeSimulator); simulated {
		return nil // no process to run a hook for
	}
	switch {
	case handler.Exec != nil:
		timeout := time.Duration(0)
		if deadline, ok := ctx.Deadline(); ok {
			timeout = max(time.Until(deadline), time.Second)
		}
		result, err := c.runtime.ExecSync(ctx, target.ContainerID, handler.Exec.Command, timeout)
		if err != nil {
			return err
		}
		if result.ExitCode != 0 {
			//lint:ignore ST1005 the text that tools know
			return fmt.Errorf("Exec lifecycle hook (%v) for Container %q failed - exit code %d, message: %q",
				handler.Exec.Command, target.Container.Name, result.ExitCode, string(result.Stdout)+string(result.Stderr))
		}
		return nil
	case handler.HTTPGet != nil:
		request, err := newRequest(ctx, target, handler.HTTPGet)
		if err != nil {
			return err
		}
		request.Header.Set("User-Agent", "kube-lifecycle/1.37")
		response, err := client(0).Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxOutput))
		if response.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("HTTP lifecycle hook failed with status code %d", response.StatusCode)
		}
		return nil
	case handler.Sleep != nil:
		timer := time.NewTimer(time.Duration(handler.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fmt.Errorf("invalid handler: %v", handler)
}
