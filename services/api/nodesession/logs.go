package nodesession

import (
	"context"
	"net/url"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Logs streams a container's log as the query, that of PodLogOptions, asks. started is called once when the agent has begun, then send for
// each piece. A pod without a node has an empty log.
func (n *Nodes) Logs(ctx context.Context, namespace, name string, query url.Values, started func() error, send func([]byte) error) error {
	options, err := logOptions(query)
	if err != nil {
		return err
	}
	pod, err := n.pod(ctx, namespace, name)
	if err != nil {
		return err
	}
	container, err := containerOf(pod, query.Get("container"))
	if err != nil {
		return err
	}
	if pod.Spec.NodeName == "" {
		return started()
	}
	if err := hasLog(pod, container, options.GetPrevious()); err != nil {
		return err
	}
	c, err := n.open(ctx, pod.Spec.NodeName, &nodev1.OpenStream{
		Namespace: pod.Namespace, PodName: pod.Name, PodUid: string(pod.UID), Container: container,
		TraceParent: telemetry.TraceParent(ctx), Kind: &nodev1.OpenStream_Logs{Logs: options},
	})
	if err != nil {
		return err
	}
	defer c.close()
	// A followed log may say nothing for long, and its reader wants to know that it is being read.
	begun := options.GetFollow()
	if begun {
		if err := started(); err != nil {
			return err
		}
	}
	err = n.relay(ctx, c, func(f *nodev1.Frame) error {
		if end := f.GetEnd(); end != nil {
			if end.GetReason() != "" || end.GetMessage() != "" {
				return statusFor(end.GetReason(), end.GetMessage())
			}
			return nil
		}
		if !begun {
			begun = true
			if err := started(); err != nil {
				return err
			}
		}
		if d := f.GetData(); d != nil && len(d.GetData()) > 0 {
			return send(d.GetData())
		}
		return nil
	})
	if err == nil && !begun {
		return started()
	}
	return err
}
