package nodesession

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/authz"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Connect implements ConnectService.
func (n *Nodes) Connect(stream grpc.BidiStreamingServer[apiv1.ConnectRequest, apiv1.ConnectResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	open := first.GetOpen()
	if open == nil {
		return apierrors.NewBadRequest("the first message of a conversation must be open")
	}
	ctx := stream.Context()
	if err := n.authorize(ctx, open); err != nil {
		return err
	}
	request, node, err := n.prepare(ctx, open)
	if err != nil {
		return err
	}
	c, err := n.open(ctx, node, request)
	if err != nil {
		return err
	}
	defer c.close()
	if err := stream.Send(&apiv1.ConnectResponse{}); err != nil {
		return err
	}
	// What the client sends goes to the agent in a goroutine that ends with either call.
	go func() {
		for {
			m, err := stream.Recv()
			if err != nil {
				// A client that only stopped sending still listens; one that went away ends ctx.
				return
			}
			if f := m.GetFrame(); f != nil && c.send(f) != nil {
				return
			}
		}
	}()
	return n.relay(ctx, c, func(f *nodev1.Frame) error { return stream.Send(&apiv1.ConnectResponse{Frame: f}) })
}

// relay passes the agent's frames on until End. It ends early when the client goes.
func (n *Nodes) relay(ctx context.Context, c *call, send func(*nodev1.Frame) error) error {
	// Closing the agent's call wakes a receive that waits for a frame nobody wants any more.
	defer context.AfterFunc(ctx, c.close)()
	for {
		f, err := c.receive()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return apierrors.NewInternalError(errors.New("the node ended the stream without a result"))
		case err != nil:
			return apierrors.NewInternalError(fmt.Errorf("the connection to the node broke off: %w", err))
		}
		if err := send(f); err != nil {
			return err
		}
		if f.GetEnd() != nil {
			return nil
		}
	}
}

// authorize asks for create, whatever method the upgrade had: all of these run code or open connections.
func (n *Nodes) authorize(ctx context.Context, open *apiv1.ConnectOpen) error {
	user, _ := authn.UserFrom(ctx)
	a := authz.Attributes{Verb: "create", Version: "v1", Resource: "pods", Subresource: open.GetSubresource(), Namespace: open.GetNamespace(), Name: open.GetName()}
	if allowed, reason := n.config.Authorizer.Authorize(ctx, user, a); !allowed {
		return authz.Forbidden(user, a, reason)
	}
	return nil
}

// prepare finds the pod, its node and its container, and what the agent is to do.
func (n *Nodes) prepare(ctx context.Context, open *apiv1.ConnectOpen) (*nodev1.OpenStream, string, error) {
	query, err := url.ParseQuery(open.GetQuery())
	if err != nil {
		return nil, "", apierrors.NewBadRequest(err.Error())
	}
	pod, err := n.pod(ctx, open.GetNamespace(), open.GetName())
	if err != nil {
		return nil, "", err
	}
	request := &nodev1.OpenStream{Namespace: pod.Namespace, PodName: pod.Name, PodUid: string(pod.UID), TraceParent: telemetry.TraceParent(ctx)}
	switch open.GetSubresource() {
	case "exec":
		var o *nodev1.Exec
		if o, err = execOptions(query); err == nil {
			request.Kind = &nodev1.OpenStream_Exec{Exec: o}
		}
	case "attach":
		var o *nodev1.Attach
		if o, err = attachOptions(query); err == nil {
			request.Kind = &nodev1.OpenStream_Attach{Attach: o}
		}
	case "portforward":
		var o *nodev1.PortForward
		if o, err = portForwardOptions(query); err == nil {
			request.Kind = &nodev1.OpenStream_PortForward{PortForward: o}
		}
	default:
		err = apierrors.NewBadRequest(fmt.Sprintf("subresource %q is no conversation: it is exec, attach or portforward", open.GetSubresource()))
	}
	if err != nil {
		return nil, "", err
	}
	if open.GetSubresource() != "portforward" {
		if p := pod.Status.Phase; p == corev1.PodSucceeded || p == corev1.PodFailed {
			return nil, "", apierrors.NewBadRequest(fmt.Sprintf("cannot %s a container in a completed pod; current phase is %s", into(open.GetSubresource()), p))
		}
		if request.Container, err = containerOf(pod, query.Get("container")); err != nil {
			return nil, "", err
		}
	}
	if pod.Spec.NodeName == "" {
		return nil, "", apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	return request, pod.Spec.NodeName, nil
}

func into(subresource string) string {
	if subresource == "exec" {
		return "exec into"
	}
	return "attach to"
}
