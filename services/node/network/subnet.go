package network

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
)

// BridgeName is the network device of a node's pods: unique to seed, and short enough for Linux (15 characters).
func BridgeName(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	return "orr" + hex.EncodeToString(sum[:6])
}

// PodSubnet returns the node's pod network. The one stored in file is used again; otherwise a /24 in 10.0.0.0/8 that meets no route of the
// machine is chosen, starting at a place that seed decides, and stored.
func PodSubnet(file, seed string) (netip.Prefix, error) {
	if data, err := os.ReadFile(file); err == nil {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(string(data)))
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("the pod network in %s: %w", file, err)
		}
		return prefix, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return netip.Prefix{}, err
	}
	taken, err := routes()
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("reading the machine's routes: %w", err)
	}
	sum := sha256.Sum256([]byte(seed))
	first := binary.BigEndian.Uint16(sum[:2])
	for i := range uint16(1<<15 - 1) {
		// The upper half of 10.0.0.0/8 is rarely used by hosts.
		n := 1<<15 | (first+i)&(1<<15-1)
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 0}), 24)
		if overlaps(prefix, taken) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return netip.Prefix{}, err
		}
		return prefix, os.WriteFile(file, []byte(prefix.String()+"\n"), 0o644)
	}
	return netip.Prefix{}, errors.New("no free /24 for pods in 10.128.0.0/9: name one with the node's pod CIDR option")
}

func overlaps(prefix netip.Prefix, taken []netip.Prefix) bool {
	for _, t := range taken {
		if t.Overlaps(prefix) {
			return true
		}
	}
	return false
}

func routes() ([]netip.Prefix, error) {
	list, err := netlink.RouteList(nil, netlink.FAMILY_V4)
	if err != nil {
		return nil, err
	}
	var out []netip.Prefix
	for _, route := range list {
		if route.Dst == nil {
			continue
		}
		if prefix, err := netip.ParsePrefix(route.Dst.String()); err == nil && prefix.Bits() > 0 {
			out = append(out, prefix)
		}
	}
	return out, nil
}

// Gateway is the bridge's own address: the first of the subnet.
func Gateway(subnet netip.Prefix) netip.Addr { return subnet.Masked().Addr().Next() }

// HostIP is the machine's address towards others: that of the default route's device, else any global one. ok is false when there is none.
func HostIP() (addr netip.Addr, ok bool) {
	if list, err := netlink.RouteList(nil, netlink.FAMILY_V4); err == nil {
		for _, route := range list {
			if route.Dst != nil && !route.Dst.IP.IsUnspecified() {
				continue
			}
			if device, err := net.InterfaceByIndex(route.LinkIndex); err == nil {
				if addr, ok := globalAddress(*device); ok {
					return addr, true
				}
			}
		}
	}
	devices, err := net.Interfaces()
	if err != nil {
		return netip.Addr{}, false
	}
	for _, device := range devices {
		// Bridges of pods come and go and are no way to reach the machine.
		if device.Flags&net.FlagUp == 0 || strings.HasPrefix(device.Name, "orr") || strings.HasPrefix(device.Name, "veth") {
			continue
		}
		if addr, ok := globalAddress(device); ok {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

func globalAddress(device net.Interface) (netip.Addr, bool) {
	addresses, err := device.Addrs()
	if err != nil {
		return netip.Addr{}, false
	}
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(a.String())
		if err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr(), true
		}
	}
	return netip.Addr{}, false
}
