package gateway

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/orrery-io/orrery/services/internal/apistatus"
)

const (
	contentJSON     = "application/json"
	contentProtobuf = "application/vnd.kubernetes.protobuf"
)

// statusOf is the Kubernetes Status for an error of a call to the api, or of the gateway itself.
func statusOf(err error, ex *exchange) *metav1.Status {
	if s, ok := status.FromError(err); ok && len(s.Proto().GetDetails()) == 0 {
		switch s.Code() {
		case codes.Unavailable:
			e := apierrors.NewServiceUnavailable("the api service cannot be reached at the moment; try again")
			if ex.safeToRepeat() {
				e.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
			}
			return &e.ErrStatus
		case codes.DeadlineExceeded:
			return &apierrors.NewTimeoutError("request did not complete within requested timeout - "+context.DeadlineExceeded.Error(), 0).ErrStatus
		}
	}
	s := apistatus.Of(err)
	return &s
}

// routingError is the Status for a request that fits no route.
func routingError(code int) *apierrors.StatusError {
	if code == http.StatusBadRequest {
		return apierrors.NewBadRequest("the request's path must begin with a slash")
	}
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", "", 0, false)
}

// writeStatus answers with a Status, in the client's encoding.
func writeStatus(w http.ResponseWriter, r *http.Request, s *metav1.Status) {
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	contentType, body := contentJSON, []byte(nil)
	var err error
	if acceptsProtobuf(r.Header.Values("Accept")) {
		contentType = contentProtobuf
		body, err = protobufStatus(s)
	} else {
		body, err = json.Marshal(s)
	}
	if err != nil {
		// A Status is strings and numbers; it cannot fail to encode.
		http.Error(w, s.Message, int(s.Code))
		return
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-cache, private")
	w.WriteHeader(int(s.Code))
	// The client may be gone; then there is nobody left to tell.
	_, _ = w.Write(body)
}

// protobufStatus is s as Kubernetes writes objects in protobuf: "k8s\0", then a runtime.Unknown.
func protobufStatus(s *metav1.Status) ([]byte, error) {
	raw, err := s.Marshal()
	if err != nil {
		return nil, err
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Status"}, Raw: raw}
	envelope, err := unknown.Marshal()
	if err != nil {
		return nil, err
	}
	return append([]byte("k8s\x00"), envelope...), nil
}

// acceptsProtobuf says whether the client wants protobuf before JSON: the clause with the higher q wins, the first among equals.
func acceptsProtobuf(accept []string) bool {
	best, protobuf := 0.0, false
	for _, clause := range strings.Split(strings.Join(accept, ","), ",") {
		mediaType, params, err := mime.ParseMediaType(clause)
		if err != nil {
			continue
		}
		q := 1.0
		if v, err := strconv.ParseFloat(params["q"], 64); err == nil {
			q = v
		}
		switch mediaType {
		case contentJSON, "*/*", "application/*", contentProtobuf:
			if q > best {
				best, protobuf = q, mediaType == contentProtobuf
			}
		}
	}
	return protobuf
}

// clientGone says whether err only means that nobody waits for the answer any more.
func clientGone(ctx context.Context, err error) bool {
	return errors.Is(ctx.Err(), context.Canceled) && (errors.Is(err, context.Canceled) || status.Code(err) == codes.Canceled)
}
