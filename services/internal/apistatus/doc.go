// Package apistatus carries Kubernetes errors over gRPC and back.
//
// One idea: an error has two faces. gRPC clients act on the status code; Kubernetes clients act on the Status object (code, reason,
// causes, retryAfterSeconds). The Status travels whole as a detail of the gRPC status, so neither face loses anything.
//
// codes.go has the table from one to the other, convert.go the two conversions.
package apistatus
