package api

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/pki"
)

// agent holds node n1's session and answers every stream by serve; a stream for a command "refuse" is refused.
func (h *harness) agent(serve func(o *nodev1.OpenStream, s grpc.BidiStreamingClient[nodev1.ServeRequest, nodev1.ServeResponse])) {
	h.t.Helper()
	client := nodev1.NewNodeServiceClient(h.dial(pki.NodeCert("n1")))
	session, err := client.Session(h.ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := session.Send(&nodev1.SessionRequest{Message: &nodev1.SessionRequest_Hello{Hello: &nodev1.Hello{NodeName: "n1"}}}); err != nil {
		h.t.Fatal(err)
	}
	if m, err := session.Recv(); err != nil || m.GetWelcome().GetHeartbeatPeriodMs() == 0 {
		h.t.Fatalf("welcome: %v %v", m, err)
	}
	go func() {
		for {
			m, err := session.Recv()
			if err != nil {
				return
			}
			o := m.GetOpen()
			switch {
			case o == nil:
			case len(o.GetExec().GetCommand()) > 0 && o.GetExec().GetCommand()[0] == "refuse":
				_ = session.Send(&nodev1.SessionRequest{Message: &nodev1.SessionRequest_Refuse{Refuse: &nodev1.Refuse{StreamId: o.GetStreamId(), Reason: "NotFound", Message: "no such container"}}})
			default:
				s, err := client.Serve(h.ctx)
				if err != nil {
					return
				}
				_ = s.Send(&nodev1.ServeRequest{Message: &nodev1.ServeRequest_StreamId{StreamId: o.GetStreamId()}})
				go serve(o, s)
			}
		}
	}()
}

func sendFrame(s grpc.BidiStreamingClient[nodev1.ServeRequest, nodev1.ServeResponse], f *nodev1.Frame) {
	_ = s.Send(&nodev1.ServeRequest{Message: &nodev1.ServeRequest_Frame{Frame: f}})
}

func data(channel uint32, text string) *nodev1.Frame {
	return &nodev1.Frame{Kind: &nodev1.Frame_Data{Data: &nodev1.Data{Channel: channel, Data: []byte(text)}}}
}

// runningPod makes a pod on n1 whose container runs.
func (h *harness) runningPod(containers ...string) {
	h.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	for _, c := range containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c, Image: "nginx"})
	}
	pods := h.client(pki.Admin).Pods("default")
	pod, err := pods.Create(h.ctx, pod)
	if err != nil {
		h.t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	for i, c := range containers {
		s := corev1.ContainerStatus{Name: c, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		if i == 1 {
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
	}
	if _, err := pods.UpdateStatus(h.ctx, pod); err != nil {
		h.t.Fatal(err)
	}
}

func TestExecAndLogsThroughTheNodesSession(t *testing.T) {
	h := start(t)
	h.runningPod("c", "late")
	r := h.rest(pki.Admin)
	next, cancel := r.stream("/api/v1/namespaces/default/pods/web/log?container=c")
	if _, err := next(); err == nil || !strings.Contains(err.Error(), `error dialing backend: no session with node "n1"`) {
		t.Errorf("log without a session: %v", err)
	}
	cancel()

	h.agent(func(o *nodev1.OpenStream, s grpc.BidiStreamingClient[nodev1.ServeRequest, nodev1.ServeResponse]) {
		if o.GetLogs() != nil {
			sendFrame(s, data(1, "hello "))
			sendFrame(s, data(2, o.GetContainer()))
			sendFrame(s, &nodev1.Frame{Kind: &nodev1.Frame_End{End: &nodev1.End{}}})
			return
		}
		m, err := s.Recv()
		if err != nil {
			return
		}
		sendFrame(s, data(1, strings.ToUpper(string(m.GetFrame().GetData().GetData()))))
		sendFrame(s, &nodev1.Frame{Kind: &nodev1.Frame_End{End: &nodev1.End{ExitCode: 7, Reason: "NonZeroExitCode"}}})
	})

	next, cancel = r.stream("/api/v1/namespaces/default/pods/web/log?container=c")
	defer cancel()
	text := ""
	for {
		b, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Parts {
			text += string(p)
		}
	}
	if text != "hello c" {
		t.Errorf("log %q", text)
	}

	connect := apiv1.NewConnectServiceClient(h.dial(pki.Admin))
	conversation, err := connect.Connect(h.ctx)
	if err != nil {
		t.Fatal(err)
	}
	send := func(m *apiv1.ConnectRequest) {
		if err := conversation.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	send(&apiv1.ConnectRequest{Message: &apiv1.ConnectRequest_Open{Open: &apiv1.ConnectOpen{Namespace: "default", Name: "web", Subresource: "exec", Query: "container=c&command=cat&stdin=true&stdout=true"}}})
	if m, err := conversation.Recv(); err != nil || m.GetFrame() != nil {
		t.Fatalf("accepted with %v, %v", m, err)
	}
	send(&apiv1.ConnectRequest{Message: &apiv1.ConnectRequest_Frame{Frame: data(0, "shout")}})
	if m, err := conversation.Recv(); err != nil || string(m.GetFrame().GetData().GetData()) != "SHOUT" {
		t.Fatalf("output %v, %v", m, err)
	}
	if m, err := conversation.Recv(); err != nil || m.GetFrame().GetEnd().GetExitCode() != 7 {
		t.Fatalf("end %v, %v", m, err)
	}
	if _, err := conversation.Recv(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}

	for query, want := range map[string]string{
		"command=refuse&stdout=1&container=c": "no such container",
		"command=ls&stdout=1":                 "a container name must be specified for pod web, choose one of: [c late]",
		"command=ls&stdout=1&container=x":     "container x is not valid for pod web",
		"command=ls&container=c":              "you must specify at least 1 of stdin, stdout, stderr",
	} {
		c, err := connect.Connect(h.ctx)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Send(&apiv1.ConnectRequest{Message: &apiv1.ConnectRequest_Open{Open: &apiv1.ConnectOpen{Namespace: "default", Name: "web", Subresource: "exec", Query: query}}})
		if _, err = c.Recv(); err == nil || apistatus.Of(err).Message != want {
			t.Errorf("%s: %v, want %s", query, err, want)
		}
	}
	next, cancel = r.stream("/api/v1/namespaces/default/pods/web/log?container=late")
	defer cancel()
	if _, err := next(); err == nil || err.Error() != `container "late" in pod "web" is waiting to start: ContainerCreating` {
		t.Errorf("log of a waiting container: %v", err)
	}
}

func TestNobodyHoldsAnothersSession(t *testing.T) {
	h := start(t)
	session, err := nodev1.NewNodeServiceClient(h.dial(pki.NodeCert("n1"))).Session(h.ctx)
	if err != nil {
		t.Fatal(err)
	}
	_ = session.Send(&nodev1.SessionRequest{Message: &nodev1.SessionRequest_Hello{Hello: &nodev1.Hello{NodeName: "n2"}}})
	if _, err = session.Recv(); !apierrors.IsForbidden(apistatus.FromGRPC(err)) {
		t.Errorf("n1 as n2: %v", err)
	}
	if s := h.rest(pki.Scheduler).fails("Get", "/api/v1/namespaces/default/secrets/x", "", ""); s.ErrStatus.Code != http.StatusForbidden ||
		s.ErrStatus.Message != `secrets "x" is forbidden: User "system:kube-scheduler" cannot get resource "secrets" in API group "" in the namespace "default"` {
		t.Errorf("the scheduler reading a secret: %+v", s.ErrStatus)
	}
}
