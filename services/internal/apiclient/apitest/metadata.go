package apitest

import (
	"encoding/json"
	"fmt"
	"strconv"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/kinds"
)

const resourceService = "orrery.api.v1.ResourceService"

// invokeResource runs one call of the ResourceService; answers show metadata alone.
func (s *Server) invokeResource(method string, args, reply any) error {
	switch r := args.(type) {
	case *apiv1.ResourceServiceDiscoverRequest:
		data, err := json.Marshal(discovery())
		reply.(*apiv1.ResourceServiceDiscoverResponse).Groups = &apiv1.Body{ContentType: "application/json", Data: data}
		return err
	case *apiv1.ResourceServiceGetRequest:
		return s.onOne(method, r.Ref, reply, func(k kinds.Kind) (marshaler, error) { return s.get(k, r.Ref.Namespace, r.Ref.Name) })
	case *apiv1.ResourceServicePatchRequest:
		return s.onOne(method, r.Ref, reply, func(k kinds.Kind) (marshaler, error) {
			return s.patch(k, r.Ref.Namespace, r.Ref.Name, types.PatchType(r.Patch.ContentType), r.Patch.Data, "")
		})
	case *apiv1.ResourceServiceDeleteRequest:
		options := metav1.DeleteOptions{}
		if err := options.Unmarshal(r.Options); err != nil {
			return err
		}
		return s.onOne(method, r.Ref, reply, func(k kinds.Kind) (marshaler, error) {
			return nil, s.delete(k, r.Ref.Namespace, r.Ref.Name, options)
		})
	case *apiv1.ResourceServiceDeleteCollectionRequest:
		options, list := metav1.DeleteOptions{}, metav1.ListOptions{}
		if err := options.Unmarshal(r.Options); err != nil {
			return err
		}
		if err := list.Unmarshal(r.ListOptions); err != nil {
			return err
		}
		return s.onOne(method, r.Ref, reply, func(k kinds.Kind) (marshaler, error) {
			objects, err := s.list(k, r.Ref.Namespace, list)
			for _, o := range objects {
				if err := s.delete(k, o.GetNamespace(), o.GetName(), options); err != nil && !apierrors.IsNotFound(err) {
					return nil, err
				}
			}
			return nil, err
		})
	case *apiv1.ResourceServiceListRequest:
		list := metav1.ListOptions{}
		if err := list.Unmarshal(r.Options); err != nil {
			return err
		}
		return s.onOne(method, r.Ref, reply, func(k kinds.Kind) (marshaler, error) {
			objects, err := s.list(k, r.Ref.Namespace, list)
			out := &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatInt(s.revision, 10)}}
			for _, o := range objects {
				out.Items = append(out.Items, *metadataOf(o))
			}
			return out, err
		})
	}
	return apierrors.NewGenericServerResponse(405, method, apiGroupResource, "", fmt.Sprintf("%T", args), 0, true)
}

var apiGroupResource = resource(kinds.Kind{})

func (s *Server) onOne(method string, ref *apiv1.ResourceRef, reply any, run func(kinds.Kind) (marshaler, error)) error {
	kind, ok := kinds.ByResource(ref.Group, ref.Version, ref.Resource)
	if !ok {
		return apierrors.NewNotFound(resource(kinds.Kind{Group: ref.Group, Plural: ref.Resource}), ref.Name)
	}
	out, err := s.call(Call{Kind: kind.Kind, Method: method, Namespace: ref.Namespace, Name: ref.Name}, func() (marshaler, error) { return run(kind) })
	if err != nil {
		return err
	}
	var body *apiv1.Body
	switch o := out.(type) {
	case apiclient.Object:
		body, err = metadataBody(o)
	case *metav1.PartialObjectMetadataList:
		body, err = encode(o)
	}
	switch r := reply.(type) {
	case *apiv1.ResourceServiceGetResponse:
		r.Object = body
	case *apiv1.ResourceServicePatchResponse:
		r.Object = body
	case *apiv1.ResourceServiceListResponse:
		r.List = body
	}
	return err
}

func metadataOf(obj apiclient.Object) *metav1.PartialObjectMetadata {
	data, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	out := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(data, out); err != nil {
		panic(err)
	}
	return out
}

func metadataBody(obj apiclient.Object) (*apiv1.Body, error) { return encode(metadataOf(obj)) }

func encode(obj marshaler) (*apiv1.Body, error) {
	raw, err := obj.Marshal()
	if err != nil {
		return nil, err
	}
	data, err := (&runtime.Unknown{Raw: raw}).Marshal()
	return &apiv1.Body{ContentType: runtime.ContentTypeProtobuf, Data: append([]byte("k8s\x00"), data...)}, err
}

// discovery is the document for every kind of k8s.io/api.
func discovery() *apidiscoveryv2.APIGroupDiscoveryList {
	out := &apidiscoveryv2.APIGroupDiscoveryList{}
	for _, k := range kinds.All {
		if !scheme.Scheme.Recognizes(gvk(k, k.Kind)) {
			continue
		}
		g := -1
		for i := range out.Items {
			if out.Items[i].Name == k.Group {
				g = i
			}
		}
		if g < 0 {
			g = len(out.Items)
			out.Items = append(out.Items, apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: k.Group}})
		}
		v := -1
		for i := range out.Items[g].Versions {
			if out.Items[g].Versions[i].Version == k.Version {
				v = i
			}
		}
		if v < 0 {
			v = len(out.Items[g].Versions)
			out.Items[g].Versions = append(out.Items[g].Versions, apidiscoveryv2.APIVersionDiscovery{Version: k.Version})
		}
		scope := apidiscoveryv2.ScopeCluster
		if k.Namespaced {
			scope = apidiscoveryv2.ScopeNamespace
		}
		out.Items[g].Versions[v].Resources = append(out.Items[g].Versions[v].Resources, apidiscoveryv2.APIResourceDiscovery{
			Resource: k.Plural, Scope: scope, Verbs: k.Verbs, ResponseKind: &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind},
		})
	}
	return out
}
