package apiclient

import (
	"context"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/apistatus"
)

const (
	metadataAccept     = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	metadataListAccept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// protobufMagic begins every object in Kubernetes' REST protobuf encoding; a runtime.Unknown follows.
const protobufMagic = "k8s\x00"

// Metadata reads and changes objects of any resource, custom ones too, seeing nothing of them but their metadata.
type Metadata struct {
	service apiv1.ResourceServiceClient
	ref     *apiv1.ResourceRef
}

// Metadata is the metadata client of a resource in a namespace ("" for all, or for a cluster-scoped one).
func (c *Client) Metadata(gvr schema.GroupVersionResource, namespace string) Metadata {
	return Metadata{service: apiv1.NewResourceServiceClient(c.conn),
		ref: &apiv1.ResourceRef{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Namespace: namespace}}
}

// Discover lists every group, version and resource as the api's aggregated discovery document, in JSON.
func (c *Client) Discover(ctx context.Context) ([]byte, error) {
	out, err := apiv1.NewResourceServiceClient(c.conn).Discover(ctx, &apiv1.ResourceServiceDiscoverRequest{})
	if err != nil {
		return nil, apistatus.FromGRPC(err)
	}
	return out.GetGroups().GetData(), nil
}

func (m Metadata) named(name string) *apiv1.ResourceRef {
	return &apiv1.ResourceRef{Group: m.ref.Group, Version: m.ref.Version, Resource: m.ref.Resource, Namespace: m.ref.Namespace, Name: name}
}

// Get reads one object's metadata.
func (m Metadata) Get(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	out, err := m.service.Get(ctx, &apiv1.ResourceServiceGetRequest{Ref: m.named(name), Accept: metadataAccept})
	if err != nil {
		return nil, apistatus.FromGRPC(err)
	}
	obj := &metav1.PartialObjectMetadata{}
	return obj, decodeBody(out.GetObject(), obj)
}

// List reads the metadata of the selected objects.
func (m Metadata) List(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	opts, err := options.Marshal()
	if err != nil {
		return nil, err
	}
	out, err := m.service.List(ctx, &apiv1.ResourceServiceListRequest{Ref: m.ref, Options: opts, Accept: metadataListAccept})
	if err != nil {
		return nil, apistatus.FromGRPC(err)
	}
	list := &metav1.PartialObjectMetadataList{}
	return list, decodeBody(out.GetList(), list)
}

// Patch changes an object by a JSON, merge or strategic merge patch.
func (m Metadata) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte) (*metav1.PartialObjectMetadata, error) {
	out, err := m.service.Patch(ctx, &apiv1.ResourceServicePatchRequest{Ref: m.named(name), Accept: metadataAccept,
		Patch: &apiv1.Body{ContentType: string(kind), Data: patch}})
	if err != nil {
		return nil, apistatus.FromGRPC(err)
	}
	obj := &metav1.PartialObjectMetadata{}
	return obj, decodeBody(out.GetObject(), obj)
}

// Delete deletes one object.
func (m Metadata) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	opts, err := options.Marshal()
	if err != nil {
		return err
	}
	_, err = m.service.Delete(ctx, &apiv1.ResourceServiceDeleteRequest{Ref: m.named(name), Options: opts, Accept: metadataAccept})
	return apistatus.FromGRPC(err)
}

// DeleteCollection deletes the selected objects.
func (m Metadata) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	opts, err := options.Marshal()
	if err != nil {
		return err
	}
	selected, err := list.Marshal()
	if err != nil {
		return err
	}
	_, err = m.service.DeleteCollection(ctx, &apiv1.ResourceServiceDeleteCollectionRequest{Ref: m.ref, Options: opts, ListOptions: selected, Accept: metadataAccept})
	return apistatus.FromGRPC(err)
}

// MetadataWatch is an open watch of metadata; it has the methods of Watch.
type MetadataWatch struct {
	stream grpc.ServerStreamingClient[apiv1.ResourceServiceWatchResponse]
	cancel context.CancelFunc
}

// Watch opens a watch. It is over when ctx is; Close ends it earlier.
func (m Metadata) Watch(ctx context.Context, options metav1.ListOptions) (*MetadataWatch, error) {
	opts, err := options.Marshal()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := m.service.Watch(ctx, &apiv1.ResourceServiceWatchRequest{Ref: m.ref, Options: opts, Accept: metadataAccept})
	if err != nil {
		cancel()
		return nil, apistatus.FromGRPC(err)
	}
	return &MetadataWatch{stream: stream, cancel: cancel}, nil
}

// Recv blocks for the next event; see Watch.Recv.
func (w *MetadataWatch) Recv() (Event[*metav1.PartialObjectMetadata], error) {
	none := Event[*metav1.PartialObjectMetadata]{}
	for {
		frame, err := w.stream.Recv()
		switch {
		case err == io.EOF:
			return none, io.EOF
		case err != nil:
			return none, apistatus.FromGRPC(err)
		case frame.GetType() == "":
			continue
		case frame.GetType() == string(watch.Error):
			status := &metav1.Status{}
			if err := decodeBody(frame.GetObject(), status); err != nil {
				return none, err
			}
			return none, statusError(status)
		}
		obj := &metav1.PartialObjectMetadata{}
		if err := decodeBody(frame.GetObject(), obj); err != nil {
			return none, err
		}
		return Event[*metav1.PartialObjectMetadata]{Type: watch.EventType(frame.GetType()), Object: obj, TraceParent: frame.GetTraceParent()}, nil
	}
}

// Close ends the watch.
func (w *MetadataWatch) Close() { w.cancel() }

func decodeBody(body *apiv1.Body, into interface{ Unmarshal([]byte) error }) error {
	raw, ok := strings.CutPrefix(string(body.GetData()), protobufMagic)
	if !ok {
		return fmt.Errorf("apiclient: the answer is %q, not Kubernetes protobuf", body.GetContentType())
	}
	unknown := runtime.Unknown{}
	if err := unknown.Unmarshal([]byte(raw)); err != nil {
		return fmt.Errorf("apiclient: decoding the envelope of a %T: %w", into, err)
	}
	if err := into.Unmarshal(unknown.Raw); err != nil {
		return fmt.Errorf("apiclient: decoding a %T: %w", into, err)
	}
	return nil
}
