package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func probe(pr *corev1.Probe, p *field.Path) field.ErrorList {
	var h handlers
	h.exec(pr.Exec, p)
	h.httpGet(pr.HTTPGet, p)
	h.tcpSocket(pr.TCPSocket, p)
	if pr.GRPC != nil && h.first("grpc", p) {
		h.errs = append(h.errs, portNumber(pr.GRPC.Port, p.Child("grpc", "port"))...)
	}
	errs := h.done(p)
	errs = append(errs, nonNegative(pr.InitialDelaySeconds, p.Child("initialDelaySeconds"))...)
	errs = append(errs, nonNegative(pr.TimeoutSeconds, p.Child("timeoutSeconds"))...)
	errs = append(errs, nonNegative(pr.PeriodSeconds, p.Child("periodSeconds"))...)
	errs = append(errs, nonNegative(pr.SuccessThreshold, p.Child("successThreshold"))...)
	errs = append(errs, nonNegative(pr.FailureThreshold, p.Child("failureThreshold"))...)
	if t := pr.TerminationGracePeriodSeconds; t != nil && *t <= 0 {
		errs = append(errs, field.Invalid(p.Child("terminationGracePeriodSeconds"), *t, "must be greater than 0"))
	}
	return errs
}

// onceSucceeds is for probes of which the first success decides.
func onceSucceeds(pr *corev1.Probe, p *field.Path) field.ErrorList {
	if pr.SuccessThreshold != 1 {
		return field.ErrorList{field.Invalid(p.Child("successThreshold"), pr.SuccessThreshold, "must be 1")}
	}
	return nil
}

func (s *containerScope) hook(l *corev1.LifecycleHandler, p *field.Path) field.ErrorList {
	var h handlers
	h.exec(l.Exec, p)
	h.httpGet(l.HTTPGet, p)
	h.tcpSocket(l.TCPSocket, p)
	if l.Sleep != nil && h.first("sleep", p) {
		if l.Sleep.Seconds < 0 || l.Sleep.Seconds > s.gracePeriod {
			h.errs = append(h.errs, field.Invalid(p.Child("sleep"), l.Sleep.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", s.gracePeriod)))
		}
	}
	return h.done(p)
}

// handlers checks that there is one handler, and checks it.
type handlers struct {
	count int
	errs  field.ErrorList
}

// first counts a handler and says whether it is the first.
func (h *handlers) first(name string, p *field.Path) bool {
	h.count++
	if h.count > 1 {
		h.errs = append(h.errs, field.Forbidden(p.Child(name), "may not specify more than 1 handler type"))
	}
	return h.count == 1
}

func (h *handlers) done(p *field.Path) field.ErrorList {
	if h.count == 0 {
		h.errs = append(h.errs, field.Required(p, "must specify a handler type"))
	}
	return h.errs
}

func (h *handlers) exec(a *corev1.ExecAction, p *field.Path) {
	if a != nil && h.first("exec", p) && len(a.Command) == 0 {
		h.errs = append(h.errs, field.Required(p.Child("exec", "command"), ""))
	}
}

func (h *handlers) httpGet(a *corev1.HTTPGetAction, p *field.Path) {
	if a == nil || !h.first("httpGet", p) {
		return
	}
	at := p.Child("httpGet")
	h.errs = append(h.errs, required(a.Path, at.Child("path"))...)
	h.errs = append(h.errs, portNumberOrName(a.Port, at.Child("port"))...)
	h.errs = append(h.errs, oneOf(a.Scheme, at.Child("scheme"), corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	for _, header := range a.HTTPHeaders {
		h.errs = append(h.errs, invalid(at.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
	}
}

func (h *handlers) tcpSocket(a *corev1.TCPSocketAction, p *field.Path) {
	if a != nil && h.first("tcpSocket", p) {
		h.errs = append(h.errs, portNumberOrName(a.Port, p.Child("tcpSocket", "port"))...)
	}
}

func portNumberOrName(port intstr.IntOrString, p *field.Path) field.ErrorList {
	switch port.Type {
	case intstr.Int:
		return invalid(p, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
	case intstr.String:
		return invalid(p, port.StrVal, validation.IsValidPortName(port.StrVal))
	default:
		return field.ErrorList{field.InternalError(p, fmt.Errorf("unknown type: %v", port.Type))}
	}
}
