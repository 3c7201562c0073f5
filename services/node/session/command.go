package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/podstate"
)

// reasonExitCode is the reason of a command that ended with another exit code than 0.
const reasonExitCode = "NonZeroExitCode"

// running finds the container to run a command in.
func running(pod *corev1.Pod, state *podstate.Pod, name string) (*podstate.Container, error) {
	container := state.Latest(name)
	if container == nil || container.State != podstate.Running {
		return nil, refuse(metav1.StatusReasonBadRequest, "container %q in pod %q is not running", name, pod.Name)
	}
	return container, nil
}

func (s *session) exec(ctx context.Context, pod *corev1.Pod, state *podstate.Pod, name string, request *nodev1.Exec) (handler, error) {
	container, err := running(pod, state, name)
	if err != nil {
		return nil, err
	}
	address, err := s.config.Runtime.Exec(ctx, &runtimeapi.ExecRequest{ContainerId: container.ID, Cmd: request.GetCommand(), Tty: request.GetTty(),
		Stdin: request.GetStdin(), Stdout: request.GetStdout(), Stderr: request.GetStderr() && !request.GetTty()})
	if err != nil {
		return nil, runtimeError(err)
	}
	return command(address, request.GetStdin(), request.GetStdout(), request.GetStderr(), request.GetTty()), nil
}

func (s *session) attach(ctx context.Context, pod *corev1.Pod, state *podstate.Pod, name string, request *nodev1.Attach) (handler, error) {
	container, err := running(pod, state, name)
	if err != nil {
		return nil, err
	}
	address, err := s.config.Runtime.Attach(ctx, &runtimeapi.AttachRequest{ContainerId: container.ID, Tty: request.GetTty(),
		Stdin: request.GetStdin(), Stdout: request.GetStdout(), Stderr: request.GetStderr() && !request.GetTty()})
	if err != nil {
		return nil, runtimeError(err)
	}
	return command(address, request.GetStdin(), request.GetStdout(), request.GetStderr(), request.GetTty()), nil
}

// runtimeError makes what the runtime cannot do the client's mistake, and all else an internal error.
func runtimeError(err error) error {
	if cri.IsUnimplemented(err) {
		return refuse(metav1.StatusReasonBadRequest, "%s", cri.Message(err))
	}
	return fmt.Errorf("container runtime: %s", cri.Message(err))
}

// command connects the client to the runtime's streaming server.
func command(address string, stdin, stdout, stderr, tty bool) handler {
	return func(ctx context.Context, c *conversation) *nodev1.End {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		u, err := url.Parse(address)
		if err != nil {
			return failed(err)
		}
		executor, err := remotecommand.NewSPDYExecutor(&rest.Config{}, "POST", u)
		if err != nil {
			return failed(err)
		}
		options := remotecommand.StreamOptions{Tty: tty}
		input, feed := io.Pipe()
		defer feed.Close()
		sizes := &sizeQueue{ctx: ctx, sizes: make(chan remotecommand.TerminalSize, 16)}
		if stdin {
			options.Stdin = input
		}
		if stdout {
			options.Stdout = c.writer(stdoutChannel)
		}
		if stderr && !tty {
			options.Stderr = c.writer(stderrChannel)
		}
		if tty {
			options.TerminalSizeQueue = sizes
		}
		go receive(c, feed, sizes, cancel)
		return outcome(executor.StreamWithContext(ctx, options))
	}
}

// receive passes on what the client sends until it has gone, which ends the command's streams.
func receive(c *conversation, stdin *io.PipeWriter, sizes *sizeQueue, gone context.CancelFunc) {
	defer gone()
	for {
		frame, err := c.recv()
		if err != nil {
			stdin.CloseWithError(io.EOF)
			return
		}
		switch kind := frame.Kind.(type) {
		case *nodev1.Frame_Data:
			if kind.Data.GetChannel() == stdinChannel {
				if _, err := stdin.Write(kind.Data.GetData()); err != nil {
					continue // the command reads no more; its output goes on
				}
			}
		case *nodev1.Frame_Close:
			if kind.Close.GetChannel() == stdinChannel {
				stdin.Close()
			}
		case *nodev1.Frame_Resize:
			sizes.add(remotecommand.TerminalSize{Width: uint16(kind.Resize.GetWidth()), Height: uint16(kind.Resize.GetHeight())})
		}
	}
}

// outcome turns the executor's error into the stream's end.
func outcome(err error) *nodev1.End {
	var exit exec.CodeExitError
	switch {
	case err == nil:
		return &nodev1.End{}
	case errors.As(err, &exit):
		return &nodev1.End{ExitCode: int32(exit.Code), Reason: reasonExitCode, Message: fmt.Sprintf("command terminated with non-zero exit code: %v", exit.Err)}
	}
	return failed(err)
}

// sizeQueue hands the terminal's sizes to the executor.
type sizeQueue struct {
	ctx   context.Context
	sizes chan remotecommand.TerminalSize
}

// add drops the oldest when nobody keeps up: only the newest counts.
func (q *sizeQueue) add(size remotecommand.TerminalSize) {
	for {
		select {
		case q.sizes <- size:
			return
		default:
		}
		select {
		case <-q.sizes:
		default:
		}
	}
}

// Next implements remotecommand.TerminalSizeQueue.
func (q *sizeQueue) Next() *remotecommand.TerminalSize {
	select {
	case size := <-q.sizes:
		return &size
	case <-q.ctx.Done():
		return nil
	}
}
