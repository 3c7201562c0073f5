package podconfig

import (
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// dns is the pod's resolver configuration by its dnsPolicy and dnsConfig. ClusterFirst needs cluster name servers; without them it is the host's.
func (h Host) dns(pod *corev1.Pod) (*runtimeapi.DNSConfig, error) {
	policy := pod.Spec.DNSPolicy
	if policy == corev1.DNSClusterFirst && pod.Spec.HostNetwork {
		policy = corev1.DNSDefault
	}
	out := &runtimeapi.DNSConfig{}
	switch {
	case policy == corev1.DNSNone:
	case (policy == corev1.DNSClusterFirst || policy == corev1.DNSClusterFirstWithHostNet) && len(h.ClusterDNS) > 0:
		host, err := h.hostDNS()
		if err != nil {
			return nil, err
		}
		out.Servers = h.ClusterDNS
		if d := h.ClusterDomain; d != "" {
			out.Searches = []string{pod.Namespace + ".svc." + d, "svc." + d, d}
		}
		out.Searches = append(out.Searches, host.Searches...)
		out.Options = []string{"ndots:5"}
	default:
		host, err := h.hostDNS()
		if err != nil {
			return nil, err
		}
		out = host
	}
	if own := pod.Spec.DNSConfig; own != nil {
		out.Servers = merge(out.Servers, own.Nameservers)
		out.Searches = merge(out.Searches, own.Searches)
		for _, option := range own.Options {
			text := option.Name
			if option.Value != nil {
				text += ":" + *option.Value
			}
			out.Options = slices.DeleteFunc(out.Options, func(o string) bool { name, _, _ := strings.Cut(o, ":"); return name == option.Name })
			out.Options = append(out.Options, text)
		}
	}
	return out, nil
}

func merge(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// hostDNS reads resolv.conf(5).
func (h Host) hostDNS() (*runtimeapi.DNSConfig, error) {
	out := &runtimeapi.DNSConfig{}
	if h.ResolvConf == "" {
		return out, nil
	}
	raw, err := os.ReadFile(h.ResolvConf)
	if os.IsNotExist(err) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the host's resolver configuration: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "nameserver":
			out.Servers = append(out.Servers, fields[1])
		case "search":
			out.Searches = fields[1:]
		case "options":
			out.Options = fields[1:]
		}
	}
	return out, nil
}
