package pki

import (
	"crypto/x509/pkix"
	"fmt"
	"path/filepath"
	"strings"
)

// Names of the certificates that every cluster has; a node's is NodeCert(name).
const (
	Store       = "store"
	API         = "api"
	Gateway     = "gateway"
	Scheduler   = "scheduler"
	Controllers = "controllers"
	Proxy       = "proxy"
	Admin       = "admin"
)

// Organizations, which authentication turns into groups.
const (
	// GroupGateways marks the front proxies: the only identities that may assert another user (x-remote-user).
	GroupGateways = "system:orrery:gateways"
	// GroupStoreClients may read and write the store.
	GroupStoreClients = "system:orrery:store-clients"
	// GroupStores marks the store's members to one another.
	GroupStores = "system:orrery:stores"
	GroupNodes  = "system:nodes"
	GroupAdmins = "system:masters"
)

// Identity is one certificate: who it is for and whether it serves.
type Identity struct {
	// Name is the file name without its ending.
	Name string
	// CommonName becomes the user's name, Organizations its groups.
	CommonName    string
	Organizations []string
	// Server certificates carry the cluster's host names and addresses, and are good for both ends of a connection.
	Server bool
}

// Components lists the identities of the control plane, one a service. The names are those of Kubernetes' components, so that its
// default RBAC policy applies unchanged.
func Components() []Identity {
	return []Identity{
		{Name: Store, CommonName: "system:orrery:store", Organizations: []string{GroupStores, GroupStoreClients}, Server: true},
		{Name: API, CommonName: "system:orrery:api", Organizations: []string{GroupStoreClients}, Server: true},
		{Name: Gateway, CommonName: "system:orrery:gateway", Organizations: []string{GroupGateways}, Server: true},
		{Name: Scheduler, CommonName: "system:kube-scheduler"},
		{Name: Controllers, CommonName: "system:kube-controller-manager"},
		{Name: Proxy, CommonName: "system:kube-proxy", Organizations: []string{"system:node-proxier"}},
		{Name: Admin, CommonName: "kubernetes-admin", Organizations: []string{GroupAdmins}},
	}
}

// NodeIdentity is the identity of the agent on the node name.
func NodeIdentity(name string) Identity {
	return Identity{Name: NodeCert(name), CommonName: "system:node:" + name, Organizations: []string{GroupNodes}}
}

// NodeCert is the file name of a node's certificate, without its ending.
func NodeCert(node string) string { return "node-" + node }

func (i Identity) subject() pkix.Name {
	return pkix.Name{CommonName: i.CommonName, Organization: i.Organizations}
}

func (i Identity) validate() error {
	if i.Name == "" || i.CommonName == "" {
		return fmt.Errorf("pki: identity %+v: name and common name must be set", i)
	}
	if i.Name != filepath.Base(i.Name) || strings.HasPrefix(i.Name, ".") || i.Name == "ca" {
		return fmt.Errorf("pki: identity %q: cannot be used as a file name", i.Name)
	}
	return nil
}
