package prober

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/orrery-io/orrery/services/node/cri"
)

// userAgent is what HTTP servers see; programs look for the prefix kube-probe.
const userAgent = "kube-probe/1.37"

// maxOutput bounds what of an answer is kept for events.
const maxOutput = 10 << 10

// Target is what a check is about.
type Target struct {
	ContainerID string
	Container   *corev1.Container
	// PodIP is the pod's address; the node's with the host's network.
	PodIP string
}

// Checker does single checks.
type Checker struct{ runtime cri.Runtime }

// NewChecker makes a Checker.
func NewChecker(runtime cri.Runtime) *Checker { return &Checker{runtime} }

// Probe does one check within the probe's timeout. output says why it failed. err means that it could not be done, which says nothing about
// the container.
func (c *Checker) Probe(ctx context.Context, target Target, probe *corev1.Probe) (ok bool, output string, err error) {
	if simulator, is := c.runtime.(cri.ProbeSimulator); is {
		return simulator.SimulateProbe(ctx, target.ContainerID, probe)
	}
	timeout := time.Duration(max(probe.TimeoutSeconds, 1)) * time.Second
	switch {
	case probe.Exec != nil:
		return c.exec(ctx, target, probe.Exec.Command, timeout)
	case probe.HTTPGet != nil:
		return httpGet(ctx, target, probe.HTTPGet, timeout)
	case probe.TCPSocket != nil:
		return tcp(ctx, target, probe.TCPSocket, timeout)
	case probe.GRPC != nil:
		return grpcHealth(ctx, target, probe.GRPC, timeout)
	}
	return false, "", errors.New("missing probe handler")
}

func (c *Checker) exec(ctx context.Context, target Target, command []string, timeout time.Duration) (bool, string, error) {
	result, err := c.runtime.ExecSync(ctx, target.ContainerID, command, timeout)
	if cri.IsTimeout(err) {
		return false, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(command, " "), timeout), nil
	}
	if err != nil {
		return false, "", err
	}
	output := append(result.Stdout, result.Stderr...)
	return result.ExitCode == 0, string(output[:min(len(output), maxOutput)]), nil
}

// port resolves a number or the name of a container's port.
func port(p intstr.IntOrString, container *corev1.Container) (int, error) {
	number := p.IntValue()
	if p.Type == intstr.String {
		for _, named := range container.Ports {
			if named.Name == p.StrVal {
				return int(named.ContainerPort), nil
			}
		}
	}
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("invalid port number: %v", p.String())
	}
	return number, nil
}

// client makes a client that follows redirects only on the same host, as probes must not be led elsewhere.
func client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, Proxy: nil,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, //nolint:gosec // a probe checks that the server answers, not who it is
		CheckRedirect: func(request *http.Request, via []*http.Request) error {
			if request.URL.Hostname() != via[0].URL.Hostname() {
				return http.ErrUseLastResponse
			}
			if len(via) >= 10 {
				return errors.New("stopped after 10 redirects")
			}
			return nil
		},
	}
}

func newRequest(ctx context.Context, target Target, action *corev1.HTTPGetAction) (*http.Request, error) {
	number, err := port(action.Port, target.Container)
	if err != nil {
		return nil, err
	}
	host := action.Host
	if host == "" {
		host = target.PodIP
	}
	u, err := url.Parse(action.Path)
	if err != nil {
		u = &url.URL{Path: action.Path}
	}
	u.Scheme = strings.ToLower(string(action.Scheme))
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	u.Host = net.JoinHostPort(host, strconv.Itoa(number))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "*/*")
	for i, header := range action.HTTPHeaders {
		if strings.EqualFold(header.Name, "Host") {
			request.Host = header.Value
			continue
		}
		if i == 0 || request.Header.Get(header.Name) == "" || strings.EqualFold(header.Name, "User-Agent") || strings.EqualFold(header.Name, "Accept") {
			request.Header.Set(header.Name, header.Value)
		} else {
			request.Header.Add(header.Name, header.Value)
		}
	}
	return request, nil
}

func httpGet(ctx context.Context, target Target, action *corev1.HTTPGetAction, timeout time.Duration) (bool, string, error) {
	request, err := newRequest(ctx, target, action)
	if err != nil {
		return false, "", err
	}
	response, err := client(timeout).Do(request)
	if err != nil {
		return false, err.Error(), nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxOutput))
	if err != nil {
		return false, err.Error(), nil
	}
	if response.StatusCode >= 200 && response.StatusCode < 400 {
		return true, string(body), nil
	}
	return false, fmt.Sprintf("HTTP probe failed with statuscode: %d", response.StatusCode), nil
}

func tcp(ctx context.Context, target Target, action *corev1.TCPSocketAction, timeout time.Duration) (bool, string, error) {
	number, err := port(action.Port, target.Container)
	if err != nil {
		return false, "", err
	}
	host := action.Host
	if host == "" {
		host = target.PodIP
	}
	conn, err := (&net.Dialer{Timeout: timeout}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(number)))
	if err != nil {
		//lint:ignore nilerr a refused connection is the probe's result; an error would say that it could not be made
		return false, err.Error(), nil
	}
	conn.Close()
	return true, "", nil
}

func grpcHealth(ctx context.Context, target Target, action *corev1.GRPCAction, timeout time.Duration) (bool, string, error) {
	address := net.JoinHostPort(target.PodIP, strconv.Itoa(int(action.Port)))
	service := ""
	if action.Service != nil {
		service = *action.Service
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUserAgent(userAgent))
	if err != nil {
		return false, "", err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service}, grpc.WaitForReady(false))
	if err != nil {
		switch status.Code(err) {
		case codes.Unimplemented:
			return false, fmt.Sprintf("error: this server does not implement the grpc health protocol (grpc.health.v1.Health): %s", status.Convert(err).Message()), nil
		case codes.DeadlineExceeded:
			return false, fmt.Sprintf("timeout: health rpc did not complete within %v", timeout), nil
		}
		return false, fmt.Sprintf("error: health rpc probe failed: %v", err), nil
	}
	if answer.Status != healthpb.HealthCheckResponse_SERVING {
		return false, fmt.Sprintf("service unhealthy (responded with %q)", answer.Status.String()), nil
	}
	return true, fmt.Sprintf("service healthy (responded with %q)", answer.Status.String()), nil
}
