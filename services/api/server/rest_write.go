package server

import (
	"context"
	"mime"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/negotiate"
)

var errUpgradeRequired = apierrors.NewBadRequest("Upgrade request required")

func (s *Server) restCreate(ctx context.Context, c restCall) (answer, error) {
	switch c.target.subresource {
	case "exec", "attach", "portforward":
		return answer{}, errUpgradeRequired
	case "":
		if c.target.name != "" {
			return answer{}, errWrongVerb()
		}
	}
	if err := c.target.check("create"); err != nil {
		return answer{}, err
	}
	f, err := c.format(negotiate.Single)
	if err != nil {
		return answer{}, err
	}
	options, err := negotiate.CreateOptions(c.query)
	if err != nil {
		return answer{}, err
	}
	return c.target.create(ctx, s.decoder, c.payload(), options, f)
}

func (s *Server) restUpdate(ctx context.Context, c restCall) (answer, error) {
	if c.target.name == "" {
		return answer{}, errWrongVerb()
	}
	if err := c.target.check("update"); err != nil {
		return answer{}, err
	}
	f, err := c.format(negotiate.Single)
	if err != nil {
		return answer{}, err
	}
	options, err := negotiate.UpdateOptions(c.query)
	if err != nil {
		return answer{}, err
	}
	return c.target.update(ctx, s.decoder, c.payload(), options, f)
}

func (s *Server) restPatch(ctx context.Context, c restCall) (answer, error) {
	if c.target.name == "" {
		return answer{}, errWrongVerb()
	}
	if err := c.target.check("patch"); err != nil {
		return answer{}, err
	}
	mediaType, _, err := mime.ParseMediaType(c.contentType)
	kind, ok := patchTypes[mediaType]
	if err != nil || !ok {
		return answer{}, unsupportedPatch()
	}
	f, err := c.format(negotiate.Single)
	if err != nil {
		return answer{}, err
	}
	options, err := negotiate.PatchOptions(c.query, kind)
	if err != nil {
		return answer{}, err
	}
	return c.target.patch(ctx, kind, c.Body, options, f)
}

func (s *Server) restDelete(ctx context.Context, c restCall) (answer, error) {
	if err := c.target.check("delete"); err != nil {
		return answer{}, err
	}
	f, err := c.format(negotiate.Single)
	if err != nil {
		return answer{}, err
	}
	options, err := s.deleteOptions(c)
	if err != nil {
		return answer{}, err
	}
	return c.target.delete(ctx, options, f)
}

func (s *Server) restDeleteCollection(ctx context.Context, c restCall) (answer, error) {
	if err := c.target.check("deletecollection"); err != nil {
		return answer{}, err
	}
	f, err := c.format(negotiate.Collection)
	if err != nil {
		return answer{}, err
	}
	list, err := negotiate.ListOptions(c.query)
	if err != nil {
		return answer{}, err
	}
	options, err := s.deleteOptions(c)
	if err != nil {
		return answer{}, err
	}
	a := answer{contentType: f.ContentType()}
	err = c.target.deleteCollection(ctx, options, list, f, func(parts [][]byte) error {
		a.parts = append(a.parts, parts...)
		return nil
	})
	return a, err
}

// deleteOptions come from the body, or from the query when there is none.
func (s *Server) deleteOptions(c restCall) (metav1.DeleteOptions, error) {
	if len(c.Body) == 0 {
		return negotiate.DeleteOptions(c.query)
	}
	contentType := c.contentType
	if strings.HasPrefix(contentType, "application/x-www-form-urlencoded") {
		// What curl says of a body when nobody told it otherwise.
		contentType = ""
	}
	return s.decoder.DecodeDeleteOptions(c.Body, contentType)
}
