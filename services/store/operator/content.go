package operator

import (
	"context"
	"errors"
	"fmt"
	"io"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
)

// SnapshotSource chooses the member that writes a snapshot: the one called name, or else a healthy follower, which
// spares the leader, or whoever answers. serializable accepts a member that knows of no leader.
func (o *Operator) SnapshotSource(ctx context.Context, name string, serializable bool) (Member, error) {
	if name != "" {
		m, err := o.find(ctx, name)
		if err == nil && m.Status == nil {
			err = &MemberError{Name: name, Address: m.ClientAddress, Cause: errors.New(m.Problem)}
		}
		return m, err
	}
	ms, err := o.Members(ctx)
	if err != nil {
		return Member{}, err
	}
	var best Member
	rank := func(m Member) int {
		switch {
		case m.Status == nil || m.ClientAddress == "":
			return 0
		case !m.Healthy && !serializable:
			return 1
		case !m.Healthy:
			return 2
		case m.Leader:
			return 3
		}
		return 4
	}
	for _, m := range ms {
		if r := rank(m); r > rank(best) || r > 0 && r == rank(best) && m.Status.Applied > best.Status.Applied {
			best = m
		}
	}
	if rank(best) == 0 {
		return best, errors.New("no member can write a snapshot: name one that runs with --endpoints, or use a backup")
	}
	return best, nil
}

// Snapshot streams the content of a member into w. serializable takes what the member has when there is no leader.
func (o *Operator) Snapshot(ctx context.Context, m Member, serializable bool, w io.Writer) error {
	conn, err := o.conn(m.ClientAddress)
	if err != nil {
		return failed(ctx, m.Name, m.ClientAddress, err)
	}
	stream, err := storev1.NewMaintenanceServiceClient(conn).Snapshot(ctx, &storev1.SnapshotRequest{Serializable: serializable})
	if err != nil {
		return failed(ctx, m.Name, m.ClientAddress, err)
	}
	for {
		resp, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return failed(ctx, m.Name, m.ClientAddress, err)
		}
		if _, err := w.Write(resp.Data); err != nil {
			return fmt.Errorf("writing the snapshot: %w: is the disk full?", err)
		}
	}
}

// Load replaces the content of the running store by a snapshot and returns the revision from which it goes on.
func (o *Operator) Load(ctx context.Context, r io.Reader) (int64, error) {
	addresses, err := o.addresses(ctx)
	if err != nil {
		return 0, err
	}
	address := addresses[0] // the leader's, when it answered
	conn, err := o.conn(address)
	if err != nil {
		return 0, failed(ctx, "", address, err)
	}
	stream, err := storev1.NewMaintenanceServiceClient(conn).Restore(ctx)
	if err != nil {
		return 0, failed(ctx, "", address, err)
	}
	buf := make([]byte, 512<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if stream.Send(&storev1.RestoreRequest{Data: buf[:n]}) != nil {
				break // CloseAndRecv says why
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("reading the snapshot: %w", err)
		}
	}
	resp, err := stream.CloseAndRecv()
	if err != nil {
		return 0, failed(ctx, "", address, err)
	}
	return resp.Revision, nil
}

// Defragmented is the size of a member's log file around its rewriting.
type Defragmented struct {
	Name        string `json:"name"`
	BytesBefore int64  `json:"bytesBefore"`
	BytesAfter  int64  `json:"bytesAfter"`
}

// Defragment rewrites the log file of one member. It holds that member up while it runs.
func (o *Operator) Defragment(ctx context.Context, m Member) (Defragmented, error) {
	conn, err := o.conn(m.ClientAddress)
	if err != nil {
		return Defragmented{}, failed(ctx, m.Name, m.ClientAddress, err)
	}
	resp, err := storev1.NewMaintenanceServiceClient(conn).Defragment(ctx, &storev1.DefragmentRequest{})
	if err != nil {
		return Defragmented{}, failed(ctx, m.Name, m.ClientAddress, err)
	}
	return Defragmented{Name: m.Name, BytesBefore: resp.BytesBefore, BytesAfter: resp.BytesAfter}, nil
}
