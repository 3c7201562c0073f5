package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/node/containerd"
	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/volumes"
)

// Remove takes down what a node whose agent is gone has left on the machine: pods, its private containerd, mounts, cgroups, network devices. The
// data folder itself stays.
func Remove(ctx context.Context, dataDir string, logger *slog.Logger) error {
	dataDir, err := filepath.Abs(dataDir)
	if err != nil {
		return err
	}
	return errors.Join(containerd.Remove(ctx, filepath.Join(dataDir, "containerd"), logger), clearNode(dataDir))
}

func removeVolumes(host podconfig.Host, uid string) error {
	if err := volumes.New(host, nil).Remove(types.UID(uid)); err != nil {
		return fmt.Errorf("removing the volumes of pod %s: %w", uid, err)
	}
	return nil
}
