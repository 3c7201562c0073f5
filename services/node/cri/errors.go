package cri

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// IsNotFound tells that the sandbox, container or image does not exist.
func IsNotFound(err error) bool { return status.Code(err) == codes.NotFound }

// IsUnavailable tells that the runtime could not be reached.
func IsUnavailable(err error) bool { return status.Code(err) == codes.Unavailable }

// IsUnimplemented tells that the runtime does not have the call.
func IsUnimplemented(err error) bool { return status.Code(err) == codes.Unimplemented }

// IsTimeout tells that the call or the command took too long.
func IsTimeout(err error) bool { return status.Code(err) == codes.DeadlineExceeded }

// Message is the error's text without gRPC's preamble.
func Message(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}
