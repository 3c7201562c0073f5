package server

import (
	"context"
	"io"

	"google.golang.org/grpc"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/wire"
)

type grpcCallOption = grpc.CallOption

// Maintenance implements MaintenanceService on one member.
type Maintenance struct {
	storev1.UnimplementedMaintenanceServiceServer
	node *raftnode.Node
	peer bool
}

// NewMaintenance serves clients; with peer set it serves other members and passes nothing on.
func NewMaintenance(n *raftnode.Node, peer bool) *Maintenance {
	return &Maintenance{node: n, peer: peer}
}

// Status implements MaintenanceService.
func (m *Maintenance) Status(context.Context, *storev1.StatusRequest) (*storev1.StatusResponse, error) {
	s := m.node.Status()
	kinds, members := alarms(s.Alarms)
	problem := ""
	if s.Problem != nil {
		problem = s.Problem.Error()
	}
	return &storev1.StatusResponse{
		Name: s.Name, Leader: s.Leads, LeaderName: s.Leader, RaftTerm: s.Term, RaftIndex: s.LastIndex, RaftAppliedIndex: s.Applied,
		Revision: s.Revision, CompactRevision: s.CompactRevision, SizeBytes: s.SizeBytes, LiveBytes: s.LiveBytes, Keys: s.Keys,
		QuotaBytes: s.QuotaBytes, LogFileBytes: s.LogFileBytes, Alarms: kinds, AlarmMembers: members, Watchers: int64(s.Watch.Watchers), Leases: int64(s.Leases),
		Problem: problem, Version: s.Version, LogStore: string(s.LogStore), ClusterId: m.node.ClusterName(),
	}, nil
}

// Snapshot implements MaintenanceService.
func (m *Maintenance) Snapshot(req *storev1.SnapshotRequest, stream grpc.ServerStreamingServer[storev1.SnapshotResponse]) error {
	if !req.GetSerializable() {
		if _, err := m.node.Revision(stream.Context()); err != nil {
			return wire.ToStatus(err)
		}
	}
	return wire.ToStatus(m.node.WriteSnapshot(chunkWriter{stream}))
}

// chunkWriter sends what is written as messages of bounded size.
type chunkWriter struct {
	stream grpc.ServerStreamingServer[storev1.SnapshotResponse]
}

func (c chunkWriter) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(n+part, len(p))]
		if err := c.stream.Send(&storev1.SnapshotResponse{Data: piece}); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

// Restore implements MaintenanceService.
func (m *Maintenance) Restore(stream grpc.ClientStreamingServer[storev1.RestoreRequest, storev1.RestoreResponse]) error {
	if !m.peer && !m.node.IsLeader() {
		return m.forwardRestore(stream)
	}
	rev, err := m.node.Restore(stream.Context(), &chunkReader{stream: stream})
	if err != nil {
		return wire.ToStatus(err)
	}
	return stream.SendAndClose(&storev1.RestoreResponse{Revision: rev})
}

// forwardRestore passes a snapshot on to the leader as it arrives.
func (m *Maintenance) forwardRestore(stream grpc.ClientStreamingServer[storev1.RestoreRequest, storev1.RestoreResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	conn, err := m.node.LeaderConn(ctx)
	if err != nil {
		return wire.ToStatus(err)
	}
	leader, err := storev1.NewMaintenanceServiceClient(conn).Restore(ctx)
	if err != nil {
		return err
	}
	for {
		req, err := stream.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err // the leader's stream ends with ctx, in the middle: it changes nothing
		}
		if leader.Send(req) != nil {
			break // CloseAndRecv says why
		}
	}
	resp, err := leader.CloseAndRecv()
	if err != nil {
		return err
	}
	return stream.SendAndClose(resp)
}

// chunkReader reads messages as one stream of bytes.
type chunkReader struct {
	stream grpc.ClientStreamingServer[storev1.RestoreRequest, storev1.RestoreResponse]
	rest   []byte
}

func (c *chunkReader) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		m, err := c.stream.Recv()
		if err == io.EOF {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		c.rest = m.Data
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Defragment implements MaintenanceService.
func (m *Maintenance) Defragment(context.Context, *storev1.DefragmentRequest) (*storev1.DefragmentResponse, error) {
	before, after, err := m.node.Defragment()
	return &storev1.DefragmentResponse{BytesBefore: before, BytesAfter: after}, wire.ToStatus(err)
}
