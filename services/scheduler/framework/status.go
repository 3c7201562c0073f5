package framework

import "strings"

// Code says what a plugin decided.
type Code int

// Codes, as in Kubernetes' framework.
const (
	// Success lets the pod pass.
	Success Code = iota
	// Error is an internal failure: the pod is retried with back-off.
	Error
	// Unschedulable means that the node, or the cluster, does not fit now; evicting other pods may help.
	Unschedulable
	// UnschedulableAndUnresolvable means that evicting pods would not help.
	UnschedulableAndUnresolvable
	// Wait holds the pod in Permit.
	Wait
	// Skip means that the plugin has nothing to say about this pod.
	Skip
)

func (c Code) String() string {
	return [...]string{"Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip"}[c]
}

// Status is a plugin's answer; nil is Success.
type Status struct {
	Code    Code
	Reasons []string
	// Plugin that answered; filled in by the framework.
	Plugin string
	Err    error
}

// NewStatus makes an answer with reasons in the words that users see in events.
func NewStatus(code Code, reasons ...string) *Status { return &Status{Code: code, Reasons: reasons} }

// AsStatus makes an Error.
func AsStatus(err error) *Status {
	return &Status{Code: Error, Reasons: []string{err.Error()}, Err: err}
}

// OK tells whether the answer is Success.
func (s *Status) OK() bool { return s == nil || s.Code == Success }

// IsSkip tells whether the answer is Skip.
func (s *Status) IsSkip() bool { return s != nil && s.Code == Skip }

// Rejected tells whether the answer is one of the two Unschedulable codes.
func (s *Status) Rejected() bool {
	return s != nil && (s.Code == Unschedulable || s.Code == UnschedulableAndUnresolvable)
}

// Message joins the reasons.
func (s *Status) Message() string {
	if s == nil {
		return ""
	}
	return strings.Join(s.Reasons, ", ")
}
