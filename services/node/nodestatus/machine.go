package nodestatus

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// DefaultMaxPods is how many pods a node takes, as everywhere.
const DefaultMaxPods = 110

// Capacity is what the machine has: cores, memory, and the file system that holds dir.
func Capacity(dir string, maxPods int64) (corev1.ResourceList, error) {
	memory, err := memInfo("MemTotal")
	if err != nil {
		return nil, err
	}
	total, _, err := disk(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the size of the file system of %s: %w", dir, err)
	}
	return corev1.ResourceList{
		corev1.ResourceCPU:              *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory:           *resource.NewQuantity(memory, resource.BinarySI),
		corev1.ResourceEphemeralStorage: *resource.NewQuantity(total, resource.BinarySI),
		corev1.ResourcePods:             *resource.NewQuantity(maxPods, resource.DecimalSI),
		"hugepages-2Mi":                 *resource.NewQuantity(0, resource.BinarySI),
		"hugepages-1Gi":                 *resource.NewQuantity(0, resource.BinarySI),
	}, nil
}

// reservedMemory stays for the system: the node would be under memory pressure without it.
const reservedMemory = 100 << 20

// Allocatable is the part of the capacity that pods may have.
func Allocatable(capacity corev1.ResourceList) corev1.ResourceList {
	out := capacity.DeepCopy()
	memory := capacity[corev1.ResourceMemory]
	out[corev1.ResourceMemory] = *resource.NewQuantity(max(0, memory.Value()-reservedMemory), resource.BinarySI)
	storage := capacity[corev1.ResourceEphemeralStorage]
	out[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(storage.Value()/10*9, resource.DecimalSI)
	return out
}

// memInfo reads a line of /proc/meminfo, in bytes.
func memInfo(name string) (int64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		key, rest, ok := strings.Cut(scanner.Text(), ":")
		if !ok || key != name {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		return kilobytes << 10, err
	}
	return 0, fmt.Errorf("/proc/meminfo has no %s", name)
}

// disk is the size of the file system of a folder and what is left of it, in bytes.
func disk(dir string) (total, available int64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, 0, err
	}
	return int64(fs.Blocks) * fs.Bsize, int64(fs.Bavail) * fs.Bsize, nil
}

// pressure is whether the machine is short of something.
type pressure struct{ memory, disk, pids bool }

const (
	// A disk is short when less than a tenth is left, unless that is still plenty.
	plentyDisk = 5 << 30
	// Process ids are short when more than nine in ten are taken.
	shortPIDs = 0.9
)

// measure leaves out what cannot be measured.
func measure(dir string) pressure {
	var p pressure
	if available, err := memInfo("MemAvailable"); err == nil {
		p.memory = available < reservedMemory
	}
	if total, available, err := disk(dir); err == nil && dir != "" {
		p.disk = available < total/10 && available < plentyDisk
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		if most, err := os.ReadFile("/proc/sys/kernel/pid_max"); err == nil {
			// The fourth field is running/all.
			if fields := strings.Fields(string(load)); len(fields) > 3 {
				_, all, _ := strings.Cut(fields[3], "/")
				count, err1 := strconv.ParseFloat(all, 64)
				limit, err2 := strconv.ParseFloat(strings.TrimSpace(string(most)), 64)
				p.pids = err1 == nil && err2 == nil && count > shortPIDs*limit
			}
		}
	}
	return p
}

// systemInfo describes the machine; what it does not tell stays empty.
func systemInfo(version, runtimeVersion string) corev1.NodeSystemInfo {
	read := func(file string) string {
		raw, err := os.ReadFile(file)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(raw))
	}
	info := corev1.NodeSystemInfo{
		MachineID: read("/etc/machine-id"), SystemUUID: read("/sys/class/dmi/id/product_uuid"), BootID: read("/proc/sys/kernel/random/boot_id"),
		KernelVersion: read("/proc/sys/kernel/osrelease"), OSImage: runtime.GOOS, ContainerRuntimeVersion: runtimeVersion, KubeletVersion: version,
		OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH,
	}
	for line := range strings.Lines(read("/etc/os-release")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			info.OSImage = strings.Trim(name, `"`)
		}
	}
	return info
}
