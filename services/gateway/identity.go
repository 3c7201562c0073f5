package gateway

import (
	"net/http"
	"strings"

	"google.golang.org/grpc/metadata"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Metadata keys of the identity that the gateway asserts. The api believes them from a gateway's certificate only.
const (
	keyUser  = "x-remote-user"
	keyGroup = "x-remote-group"
)

// bearerProtocol is how a browser, which cannot set headers on a websocket, sends its token: base64url in a subprotocol.
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// requestMetadata is what the api learns about a request besides path, query and body. It is built from nothing: no header
// of the client gets through unless it is named here, so a client cannot assert an identity.
func requestMetadata(r *http.Request) metadata.MD {
	md := metadata.MD{}
	switch token := authorization(r); {
	case r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		// As in Kubernetes, a certificate is looked at before a token.
		subject := r.TLS.VerifiedChains[0][0].Subject
		md.Set(keyUser, subject.CommonName)
		if len(subject.Organization) > 0 {
			md.Set(keyGroup, subject.Organization...)
		}
	case token != "":
		md.Set("authorization", token)
	default:
		md.Set(keyUser, "system:anonymous")
		md.Set(keyGroup, "system:unauthenticated")
	}
	forward(md, r, "Accept", "accept")
	forward(md, r, "If-None-Match", "if-none-match")
	// gRPC reserves the names content-type and user-agent for itself.
	forward(md, r, "User-Agent", "x-user-agent")
	forward(md, r, "Content-Type", "x-content-type")
	for name := range r.Header {
		if strings.HasPrefix(name, "Impersonate-") {
			forward(md, r, name, strings.ToLower(name))
		}
	}
	if !telemetry.Enabled() {
		// Nobody records spans here; the client's trace context goes on to the api as it is.
		forward(md, r, "Traceparent", "traceparent")
		forward(md, r, "Tracestate", "tracestate")
	}
	return md
}

func forward(md metadata.MD, r *http.Request, header, key string) {
	for _, v := range r.Header.Values(header) {
		if printable(v) {
			md.Append(key, v)
		}
	}
}

func authorization(r *http.Request) string {
	if v := r.Header.Get("Authorization"); v != "" {
		if printable(v) {
			return v
		}
		return ""
	}
	for _, p := range websocketProtocols(r) {
		if token, ok := strings.CutPrefix(p, bearerProtocol); ok {
			if decoded, ok := decodeBase64URL(token); ok && printable(decoded) {
				return "Bearer " + decoded
			}
		}
	}
	return ""
}

// printable says whether gRPC can carry v as metadata.
func printable(v string) bool {
	for i := range len(v) {
		if v[i] < 0x20 || v[i] > 0x7e {
			return false
		}
	}
	return true
}
