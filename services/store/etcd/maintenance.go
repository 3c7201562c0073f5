package etcd

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
)

const (
	// blob is the size of a piece of a snapshot.
	blob = 256 << 10
	// sector is what a snapshot is padded to before its checksum: by the rest of its length clients tell that one is there.
	sector = 512
	// leaderTimeout is for how long a leader that was asked for may take to come up.
	leaderTimeout = 10 * time.Second
)

// maintenance implements etcd's Maintenance service.
type maintenance struct {
	pb.UnimplementedMaintenanceServer
	*Server
}

// Status implements Maintenance; it describes this member.
func (s maintenance) Status(ctx context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	st := s.node.Status()
	out := &pb.StatusResponse{
		Header: s.header(st.Revision), Version: apiVersion, DbSize: st.SizeBytes, DbSizeInUse: st.SizeBytes, DbSizeQuota: st.QuotaBytes,
		RaftTerm: st.Term, RaftIndex: st.LastIndex, RaftAppliedIndex: st.Applied,
	}
	if st.Leader == "" {
		out.Errors = append(out.Errors, rpctypes.ErrNoLeader.Error())
	} else {
		out.Leader = idOf(st.Leader)
	}
	ms, err := s.node.Members()
	if err != nil {
		return nil, toStatus(err)
	}
	for _, m := range ms {
		if m.Name == st.Name {
			out.IsLearner = !m.Voter
		}
	}
	raised, err := s.alarms(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range raised {
		out.Errors = append(out.Errors, fmt.Sprintf("memberID:%d alarm:%s ", a.MemberID, a.Alarm))
	}
	return out, nil
}

// alarms are those that are raised. One about the whole store is shown as this member's: etcd knows only such.
func (s maintenance) alarms(ctx context.Context) ([]*pb.AlarmMember, error) {
	resp, err := s.operator.ListAlarms(ctx, &storev1.ListAlarmsRequest{})
	if err != nil {
		return nil, err
	}
	var out []*pb.AlarmMember
	named := map[storev1.AlarmType]bool{}
	for _, a := range resp.Members {
		if a.Member != "" {
			named[a.Alarm] = true
			out = append(out, &pb.AlarmMember{MemberID: idOf(a.Member), Alarm: fromAlarm(a.Alarm)})
		}
	}
	for _, a := range resp.Alarms {
		if !named[a] {
			out = append(out, &pb.AlarmMember{MemberID: s.memberID, Alarm: fromAlarm(a)})
		}
	}
	return out, nil
}

func fromAlarm(a storev1.AlarmType) pb.AlarmType {
	switch a {
	case storev1.AlarmType_ALARM_TYPE_NO_SPACE:
		return pb.AlarmType_NOSPACE
	case storev1.AlarmType_ALARM_TYPE_CORRUPT:
		return pb.AlarmType_CORRUPT
	}
	return pb.AlarmType_NONE
}

// Alarm implements Maintenance. Alarms are raised by the store itself.
func (s maintenance) Alarm(ctx context.Context, r *pb.AlarmRequest) (*pb.AlarmResponse, error) {
	raised, err := s.alarms(ctx)
	if err != nil {
		return nil, err
	}
	out := &pb.AlarmResponse{Header: s.header(0)}
	for _, a := range raised {
		if (r.MemberID == 0 || r.MemberID == a.MemberID) && (r.Alarm == pb.AlarmType_NONE || r.Alarm == a.Alarm) {
			out.Alarms = append(out.Alarms, a)
		}
	}
	switch r.Action {
	case pb.AlarmRequest_GET:
		return out, nil
	case pb.AlarmRequest_DEACTIVATE:
	default:
		return nil, status.Error(codes.InvalidArgument, "etcdserver: alarms are raised by the store itself, they can be listed and disarmed")
	}
	var done []*pb.AlarmMember
	for _, a := range out.Alarms {
		req := &storev1.DisarmAlarmRequest{Alarm: storev1.AlarmType_ALARM_TYPE_NO_SPACE}
		if a.Alarm == pb.AlarmType_CORRUPT {
			req.Alarm = storev1.AlarmType_ALARM_TYPE_CORRUPT
			if req.Member, err = s.nameOf(a.MemberID); err != nil {
				req.Member = "" // it was removed: clear what is left of it
			}
		}
		if _, err := s.operator.DisarmAlarm(ctx, req); err != nil {
			return nil, fromOperator(ctx, err)
		}
		done = append(done, a)
	}
	return &pb.AlarmResponse{Header: s.header(0), Alarms: done}, nil
}

// Defragment implements Maintenance: it rewrites this member's log file.
func (s maintenance) Defragment(context.Context, *pb.DefragmentRequest) (*pb.DefragmentResponse, error) {
	if _, _, err := s.node.Defragment(); err != nil {
		return nil, toStatus(err)
	}
	return &pb.DefragmentResponse{Header: s.header(0)}, nil
}

// Hash implements Maintenance.
func (s maintenance) Hash(context.Context, *pb.HashRequest) (*pb.HashResponse, error) {
	hash, at, _, err := s.node.KeysHash(0)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.HashResponse{Header: s.header(at), Hash: hash}, nil
}

// HashKV implements Maintenance. Hashes are comparable between members of the store, not with etcd's.
func (s maintenance) HashKV(_ context.Context, r *pb.HashKVRequest) (*pb.HashKVResponse, error) {
	hash, at, compacted, err := s.node.KeysHash(max(r.Revision, 0))
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.HashKVResponse{Header: s.header(0), Hash: hash, HashRevision: at, CompactRevision: compacted}, nil
}

// Snapshot implements Maintenance. The length is not known before the end, so remaining_bytes stays 0.
func (s maintenance) Snapshot(_ *pb.SnapshotRequest, stream grpc.ServerStreamingServer[pb.SnapshotResponse]) error {
	sum := sha256.New()
	n := new(counter)
	sender := &blobSender{stream: stream, header: s.header(0)}
	out := bufio.NewWriterSize(sender, blob)
	body := io.MultiWriter(out, sum, n)
	if err := s.node.WriteSnapshot(body); err != nil {
		return toStatus(err)
	}
	if odd := int(*n) % sector; odd > 0 {
		if _, err := body.Write(make([]byte, sector-odd)); err != nil {
			return err
		}
	}
	if _, err := out.Write(sum.Sum(nil)); err != nil {
		return err
	}
	return out.Flush()
}

// blobSender sends what is written as pieces of a snapshot. Each write is one message.
type blobSender struct {
	stream grpc.ServerStreamingServer[pb.SnapshotResponse]
	header *pb.ResponseHeader
}

func (b *blobSender) Write(p []byte) (n int, err error) {
	for n < len(p) {
		piece := p[n:min(n+blob, len(p))]
		if err := b.stream.Send(&pb.SnapshotResponse{Header: b.header, Blob: piece, Version: apiVersion}); err != nil {
			return n, err
		}
		n += len(piece)
	}
	return n, nil
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// MoveLeader implements Maintenance. Unlike etcd's it may be asked of any member.
func (s maintenance) MoveLeader(ctx context.Context, r *pb.MoveLeaderRequest) (*pb.MoveLeaderResponse, error) {
	ms, err := s.node.Members()
	if err != nil {
		return nil, toStatus(err)
	}
	for _, m := range ms {
		if idOf(m.Name) == r.TargetID && m.Voter {
			if _, err := s.membership.MoveLeader(ctx, &storev1.MoveLeaderRequest{Name: m.Name}); err != nil {
				return nil, fromOperator(ctx, err)
			}
			// Clients ask the new leader next.
			ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
			defer cancel()
			if err := s.node.WaitLeader(ctx, m.Name); err != nil {
				return nil, rpctypes.ErrGRPCTimeout
			}
			return &pb.MoveLeaderResponse{Header: s.header(0)}, nil
		}
	}
	return nil, rpctypes.ErrGRPCBadLeaderTransferee
}
