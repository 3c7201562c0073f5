package nodesession

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// isTrue reads a boolean parameter as Kubernetes does: its presence is true unless it says false or 0.
func isTrue(q url.Values, key string) bool {
	v, ok := q[key]
	return ok && len(v) > 0 && !strings.EqualFold(v[0], "false") && v[0] != "0"
}

func execOptions(q url.Values) (*nodev1.Exec, error) {
	o := &nodev1.Exec{Command: q["command"], Stdin: isTrue(q, "stdin"), Stdout: isTrue(q, "stdout"), Stderr: isTrue(q, "stderr"), Tty: isTrue(q, "tty")}
	if len(o.GetCommand()) == 0 {
		return nil, apierrors.NewBadRequest("you must specify at least one command for the container")
	}
	if !o.GetStdin() && !o.GetStdout() && !o.GetStderr() {
		return nil, apierrors.NewBadRequest("you must specify at least 1 of stdin, stdout, stderr")
	}
	return o, nil
}

func attachOptions(q url.Values) (*nodev1.Attach, error) {
	o := &nodev1.Attach{Stdin: isTrue(q, "stdin"), Stdout: isTrue(q, "stdout"), Stderr: isTrue(q, "stderr"), Tty: isTrue(q, "tty")}
	if !o.GetStdin() && !o.GetStdout() && !o.GetStderr() {
		return nil, apierrors.NewBadRequest("you must specify at least 1 of stdin, stdout, stderr")
	}
	return o, nil
}

func portForwardOptions(q url.Values) (*nodev1.PortForward, error) {
	o := &nodev1.PortForward{}
	for _, list := range q["ports"] {
		for _, p := range strings.Split(list, ",") {
			n, err := strconv.ParseUint(p, 10, 16)
			if err != nil || n == 0 {
				return nil, apierrors.NewBadRequest(fmt.Sprintf("unable to parse %q as a port", p))
			}
			o.Ports = append(o.Ports, uint32(n))
		}
	}
	return o, nil
}

// logOptions reads PodLogOptions.
func logOptions(q url.Values) (*nodev1.Logs, error) {
	o := &nodev1.Logs{Follow: isTrue(q, "follow"), Previous: isTrue(q, "previous"), Timestamps: isTrue(q, "timestamps"), Stream: q.Get("stream")}
	var errs field.ErrorList
	number := func(key string, least int64, text string) *int64 {
		v := q.Get(key)
		if v == "" {
			return nil
		}
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(key), v, "must be an integer"))
		case n < least:
			errs = append(errs, field.Invalid(field.NewPath(key), n, text))
		}
		return &n
	}
	o.TailLines = number("tailLines", 0, "must be greater than or equal to 0")
	o.LimitBytes = number("limitBytes", 1, "must be greater than 0")
	o.SinceSeconds = number("sinceSeconds", 1, "must be greater than 0")
	if v := q.Get("sinceTime"); v != "" {
		at, err := time.Parse(time.RFC3339, v)
		if err != nil {
			errs = append(errs, field.Invalid(field.NewPath("sinceTime"), v, "must be a time such as 2006-01-02T15:04:05Z"))
		}
		o.SinceTime = timestamppb.New(at)
		if o.SinceSeconds != nil {
			errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
		}
	}
	switch o.GetStream() {
	case "", "All", "Stdout", "Stderr":
	default:
		errs = append(errs, field.NotSupported(field.NewPath("stream"), o.GetStream(), []string{"All", "Stderr", "Stdout"}))
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, "", errs)
	}
	return o, nil
}
