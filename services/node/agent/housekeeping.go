package agent

import (
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/logs"
)

const (
	logPeriod    = 10 * time.Second
	orphanPeriod = time.Minute
)

// keepHouse clears away what the api does not know, first when all pods are known and then every minute, and rotates logs.
func (a *Agent) keepHouse(ctx context.Context) error {
	select {
	case <-a.config.Pods.Synced():
	case <-ctx.Done():
		return ctx.Err()
	}
	orphans := a.config.Clock.NewTicker(orphanPeriod)
	defer orphans.Stop()
	logs := a.config.Clock.NewTicker(logPeriod)
	defer logs.Stop()
	a.adoptOrphans(ctx)
	for {
		select {
		case <-orphans.C():
			a.adoptOrphans(ctx)
		case <-logs.C():
			a.rotateLogs(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// adoptOrphans gives everything that belongs to a pod without a worker a worker that ends it.
func (a *Agent) adoptOrphans(ctx context.Context) {
	found := map[types.UID]bool{}
	sandboxes, err := a.config.Runtime.ListPodSandboxes(ctx, nil)
	if err != nil {
		a.logger.Warn("orphans cannot be looked for", "error", cri.Message(err))
		return
	}
	for _, s := range sandboxes {
		found[types.UID(s.Labels[cri.LabelPodUID])] = true
	}
	for _, uid := range a.volumes.Pods() {
		found[uid] = true
	}
	if a.cgroups != nil {
		for _, uid := range a.cgroups.Pods() {
			found[uid] = true
		}
	}
	for uid := range found {
		if uid != "" && !a.workers.Knows(uid) {
			a.logger.Info("ending what is left of a pod that the api does not have", "pod_uid", uid)
			a.workers.Adopt(uid)
		}
	}
}

// rotateLogs looks for logs that have grown too large; a log's path names its pod and container.
func (a *Agent) rotateLogs(ctx context.Context) {
	if a.config.Host.Dir == "" {
		return
	}
	root := filepath.Join(a.config.Host.Dir, "logs", "pods")
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") {
			//lint:ignore nilerr a pod that goes away meanwhile is no reason to stop
			return nil
		}
		info, err := d.Info()
		if err != nil || !logs.TooLarge(info.Size()) {
			//lint:ignore nilerr as above
			return nil
		}
		name := filepath.Base(filepath.Dir(path))
		pod := filepath.Base(filepath.Dir(filepath.Dir(path)))
		uid := types.UID(pod[strings.LastIndexByte(pod, '_')+1:])
		state, err := a.reader.Read(ctx, uid)
		if err != nil {
			return err
		}
		if latest := state.Latest(name); latest != nil && latest.LogPath == path {
			err := logs.Rotate(ctx, path, a.config.Clock.Now(), func(ctx context.Context) error { return a.config.Runtime.ReopenContainerLog(ctx, latest.ID) })
			if err != nil {
				a.logger.Warn("a log could not be rotated", "log", path, "error", err)
			}
		}
		return nil
	})
}
