package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// MemberError is what went wrong with one member. Its text has the cause and the next step.
type MemberError struct {
	// Name is empty when the member was known by its address alone.
	Name, Address string
	// Cause is the member's own error or that of the connection, Next what to do about it; Next may be empty.
	Cause error
	Next  string
}

func (e *MemberError) Error() string {
	return fmt.Sprintf("%s: %s", who(e.Name, e.Address), e.Reason())
}

// Reason is the text without the member.
func (e *MemberError) Reason() string {
	text := reason(e.Cause)
	if e.Next != "" {
		text += ": " + e.Next
	}
	return text
}

// Unwrap leads to the cause.
func (e *MemberError) Unwrap() error { return e.Cause }

func who(name, address string) string {
	switch {
	case name == "":
		return "the member at " + address
	case address == "":
		return fmt.Sprintf("member %q", name)
	}
	return fmt.Sprintf("member %q at %s", name, address)
}

// failed makes the MemberError of a call's error.
func failed(ctx context.Context, name, address string, err error) error {
	var known *MemberError
	if err == nil || errors.As(err, &known) {
		return err
	}
	err = wire.FromStatus(ctx, err)
	if s, ok := status.FromError(err); ok && s.Code() == codes.Unavailable && (strings.Contains(s.Message(), "deadline exceeded") || strings.Contains(s.Message(), "i/o timeout")) {
		err = context.DeadlineExceeded // the connection was made, nobody answered on it
	}
	return &MemberError{Name: name, Address: address, Cause: err, Next: advice(err)}
}

// Next steps.
const (
	nextStart    = "start it, or check its address and the network; one that is gone for good is replaced with `orrery members replace`"
	nextNetwork  = "check that its machine is up and reached from here; one that is gone for good is replaced with `orrery members replace`"
	nextLook     = "look at its log and its disk: its process may be paused or overloaded, its disk stuck, or the network cut"
	nextPKI      = "use the certificates of this cluster's authority (--pki-dir)"
	nextIdentity = "use the administrator's certificate (--pki-dir with admin.crt)"
	nextUpdate   = "it runs a version without this call: update it"
	nextLeader   = "see with `orrery members status` which voting members run and start more of them; if a majority is gone for good, `orrery members recover` makes a cluster of one that is left"
	nextNames    = "`orrery members list` shows the names"
)

// advice is the next step for an error of a call.
func advice(err error) string {
	s, _ := status.FromError(err)
	text := s.Message()
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.Is(err, kv.ErrNoLeader):
		return nextLeader
	case errors.Is(err, context.DeadlineExceeded), s.Code() == codes.DeadlineExceeded:
		return nextLook
	case s.Code() == codes.PermissionDenied, s.Code() == codes.Unauthenticated:
		return nextIdentity
	case s.Code() == codes.NotFound:
		return nextNames
	case s.Code() == codes.Unimplemented:
		return nextUpdate
	case s.Code() != codes.Unavailable:
		return "" // the member's own words say what to do
	case has("x509:", "tls:", "handshake failed", "certificate", "server preface"):
		return nextPKI
	case has("no route to host", "no such host", "network is unreachable"):
		return nextNetwork
	}
	return nextStart
}

// reason is an error without the layers that say nothing to an operator.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	s, ok := status.FromError(err)
	if !ok {
		return err.Error()
	}
	text := s.Message()
	if s.Code() == codes.Unavailable {
		// connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:2379: connect: connection refused"
		for _, layer := range []string{"transport: ", "Error while dialing: ", "connect: "} {
			if i := strings.LastIndex(text, layer); i >= 0 {
				text = strings.TrimSuffix(text[i+len(layer):], `"`)
			}
		}
	}
	if text == "" {
		return s.Code().String()
	}
	return text
}
