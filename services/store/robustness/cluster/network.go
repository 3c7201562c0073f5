package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
)

// Host is the address of the run's own end of the bridge.
const Host = "10.77.0.1"

const bridge = "orrery0"

// Network is a bridge with a network namespace for each member. It is made in the network namespace of the caller, which
// must be the run's own.
type Network struct {
	home   netns.NsHandle
	spaces map[string]netns.NsHandle // by address
}

// rules hold the pairs of addresses between which nothing passes, in one direction each. The bridge's own traffic is in
// forward; what the run sends and gets is in output and input.
const rules = `
table bridge orrery {
	set cut { type ipv4_addr . ipv4_addr
	}
	chain between { type filter hook forward priority 0
		ip saddr . ip daddr @cut drop
	}
	chain arriving { type filter hook input priority 0
		ip saddr . ip daddr @cut drop
	}
	chain leaving { type filter hook output priority 0
		ip saddr . ip daddr @cut drop
	}
}
`

// NewNetwork makes the bridge and a namespace for each address.
func NewNetwork(addresses []string) (*Network, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := netns.Get()
	if err != nil {
		return nil, err
	}
	n := &Network{home: home, spaces: map[string]netns.NsHandle{}}
	b := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()}
	b.Name = bridge
	if err := netlink.LinkAdd(b); err != nil {
		return nil, fmt.Errorf("making the bridge: %w", err)
	}
	for _, step := range []error{address(b, Host), netlink.LinkSetUp(b), loopback()} {
		if step != nil {
			return nil, fmt.Errorf("setting up the bridge: %w", step)
		}
	}
	for i, a := range addresses {
		if err := n.join(b, i, a); err != nil {
			return nil, fmt.Errorf("making the network of %s: %w", a, err)
		}
	}
	return n, nft(rules)
}

func loopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

func address(l netlink.Link, ip string) error {
	a, err := netlink.ParseAddr(ip + "/24")
	if err != nil {
		return err
	}
	return netlink.AddrAdd(l, a)
}

// join makes a namespace with one end of a cable in it. The thread is back home when it returns.
func (n *Network) join(b netlink.Link, i int, addr string) (err error) {
	space, err := netns.New() // and enters it
	if err != nil {
		return err
	}
	n.spaces[addr] = space
	if err := netns.Set(n.home); err != nil {
		return err
	}
	out, in := fmt.Sprintf("member%d", i), fmt.Sprintf("inside%d", i)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MasterIndex = out, b.Attrs().Index
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: in}); err != nil {
		return err
	}
	outside, err := netlink.LinkByName(out)
	if err != nil {
		return err
	}
	inside, err := netlink.LinkByName(in)
	if err != nil {
		return err
	}
	if err := netlink.LinkSetUp(outside); err != nil {
		return err
	}
	if err := netlink.LinkSetNsFd(inside, int(space)); err != nil {
		return err
	}
	if err := netns.Set(space); err != nil {
		return err
	}
	defer func() {
		if back := netns.Set(n.home); err == nil {
			err = back
		}
	}()
	if inside, err = netlink.LinkByName(in); err != nil {
		return err
	}
	for _, step := range []error{address(inside, addr), netlink.LinkSetUp(inside), loopback()} {
		if step != nil {
			return step
		}
	}
	return nil
}

// Close takes bridge, rules and namespaces away, for another cluster in the same run.
func (n *Network) Close() error {
	errs := []error{nft("delete table bridge orrery")}
	for i := range len(n.spaces) {
		// Deleted by hand: a namespace goes some time after its last process.
		if l, err := netlink.LinkByName(fmt.Sprintf("member%d", i)); err == nil {
			errs = append(errs, netlink.LinkDel(l))
		}
	}
	for _, s := range n.spaces {
		errs = append(errs, s.Close())
	}
	if b, err := netlink.LinkByName(bridge); err == nil {
		errs = append(errs, netlink.LinkDel(b))
	}
	return errors.Join(append(errs, n.home.Close())...)
}

// start starts a process in the namespace of an address.
func (n *Network) start(addr string, cmd *exec.Cmd) error {
	runtime.LockOSThread()
	if err := netns.Set(n.spaces[addr]); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err := cmd.Start()
	if back := netns.Set(n.home); back != nil {
		return back // the thread stays locked and ends with its goroutine
	}
	runtime.UnlockOSThread()
	return err
}

// Cut drops what from sends to to.
func (n *Network) Cut(from, to string) error {
	return nft(fmt.Sprintf("add element bridge orrery cut { %s . %s }", from, to))
}

// Heal ends all cuts.
func (n *Network) Heal() error { return nft("flush set bridge orrery cut") }

func nft(script string) error {
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("nft (of the package nftables): %w: %s", err, strings.TrimSpace(out.String()))
	}
	return nil
}
