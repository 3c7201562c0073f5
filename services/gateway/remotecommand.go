package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/remotecommand"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// Channels of exec and attach, in Kubernetes' protocols and in frames alike.
const (
	channelStdin  = 0
	channelStdout = 1
	channelStderr = 2
	channelError  = 3
	channelResize = 4
)

// commandOptions says which of its streams a command has.
type commandOptions struct{ stdin, stdout, stderr, tty bool }

// commandOptionsOf reads PodExecOptions or PodAttachOptions from the query.
func commandOptionsOf(ex *exchange) (commandOptions, error) {
	o := commandOptions{
		stdin:  isTrue(ex.query, "stdin"),
		stdout: isTrue(ex.query, "stdout"),
		stderr: isTrue(ex.query, "stderr"),
		tty:    isTrue(ex.query, "tty"),
	}
	if o.tty {
		o.stderr = false // a terminal has one output
	}
	if !o.stdin && !o.stdout && !o.stderr {
		return o, apierrors.NewBadRequest("you must specify at least 1 of stdin, stdout, stderr")
	}
	return o, nil
}

// commandClient is the client's end of exec or attach, in one of the protocols.
type commandClient interface {
	// run passes on what the client sends until the client is gone or the conversation over.
	run(c *conversation)
	// write sends output; an error means that the client is gone.
	write(channel uint32, data []byte) error
	// closeWrite says that a channel has no more output.
	closeWrite(channel uint32)
	// finish tells the client how the command ended.
	finish(end *nodev1.End)
	// close ends the connection, and with it run.
	close()
}

// bridgeCommand carries a command's streams until one side ends.
func bridgeCommand(c *conversation, client commandClient) {
	var wg sync.WaitGroup
	wg.Go(func() {
		client.run(c)
		c.cancel()
	})
	end := c.receive(func(f *nodev1.Frame) {
		switch {
		case f.GetData() != nil:
			if client.write(f.GetData().GetChannel(), f.GetData().GetData()) != nil {
				c.cancel()
			}
		case f.GetClose() != nil:
			client.closeWrite(f.GetClose().GetChannel())
		}
	})
	client.finish(end)
	client.close()
	wg.Wait()
}

// endStatus is the Status that tells a client how a conversation ended.
func endStatus(end *nodev1.End) *metav1.Status {
	reason := metav1.StatusReason(end.GetReason())
	if reason == "" && end.GetExitCode() == 0 && end.GetMessage() == "" {
		return &metav1.Status{Status: metav1.StatusSuccess}
	}
	if reason == remotecommand.NonZeroExitCodeReason || reason == "" && end.GetExitCode() != 0 {
		const prefix = "command terminated with non-zero exit code: "
		message := end.GetMessage()
		if message == "" {
			message = fmt.Sprintf("exit status %d", end.GetExitCode())
		}
		return &metav1.Status{
			Status:  metav1.StatusFailure,
			Reason:  remotecommand.NonZeroExitCodeReason,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(int(end.GetExitCode()))}}},
			Message: prefix + strings.TrimPrefix(message, prefix),
		}
	}
	if reason == metav1.StatusReasonInternalError || reason == "" {
		s := apierrors.NewInternalError(fmt.Errorf("%s", strings.TrimPrefix(end.GetMessage(), "Internal error occurred: "))).ErrStatus
		return &s
	}
	return &metav1.Status{Status: metav1.StatusFailure, Reason: reason, Message: end.GetMessage(), Code: codeOf(reason)}
}

func codeOf(reason metav1.StatusReason) int32 {
	switch reason {
	case metav1.StatusReasonBadRequest:
		return http.StatusBadRequest
	case metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonNotFound:
		return http.StatusNotFound
	case metav1.StatusReasonConflict, metav1.StatusReasonAlreadyExists:
		return http.StatusConflict
	case metav1.StatusReasonTimeout:
		return http.StatusGatewayTimeout
	case metav1.StatusReasonServiceUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// endMessage is what goes over the error channel: a Status as JSON since protocol v4, before that the text of a failure alone.
func endMessage(end *nodev1.End, asStatus bool) []byte {
	s := endStatus(end)
	if !asStatus {
		if s.Status == metav1.StatusSuccess {
			return nil
		}
		return []byte(s.Message)
	}
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(s.Message) // strings and numbers always encode
	}
	return b
}

// terminalSize is a message of the resize channel.
type terminalSize struct{ Width, Height uint16 }

func (t terminalSize) frame() *nodev1.Frame {
	return &nodev1.Frame{Kind: &nodev1.Frame_Resize{Resize: &nodev1.Resize{Width: uint32(t.Width), Height: uint32(t.Height)}}}
}
