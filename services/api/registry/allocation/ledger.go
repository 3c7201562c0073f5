package allocation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
	"github.com/orrery-io/orrery/services/store/kv"
)

// Where claims live. Node ports are nobody's objects, so they lie outside of the objects' part of the store.
const (
	addressPrefix = storage.Root + "ipaddresses/"
	portPrefix    = "/orrery/nodeports/"
	servicePrefix = storage.Root + "services/"
)

// abandoned is the age at which a claim without its service is one that an api left behind.
const abandoned = time.Minute

var errTaken = errors.New("already allocated")

// claim is a key and what is stored under it.
type claim struct {
	key   string
	value []byte
}

// holder says whose a claim is and since when.
type holder struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Since     time.Time `json:"since"`
}

var (
	addressCodec = storage.NewCodec(networkingv1.SchemeGroupVersion.WithKind("IPAddress"), func() object.Object { return &networkingv1.IPAddress{} })
	serviceCodec = storage.NewCodec(schema.GroupVersionKind{Version: "v1", Kind: "Service"}, func() object.Object { return &corev1.Service{} })
)

// addressClaim is the IPAddress object of a service's address, as Kubernetes makes it (KEP-1880).
func (s *Services) addressClaim(ip string, svc *corev1.Service) (claim, error) {
	value, _, err := addressCodec.Encode(&networkingv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Name: ip, UID: uuid.NewUUID(), CreationTimestamp: metav1.NewTime(s.clock.Now()).Rfc3339Copy(),
			Labels: map[string]string{networkingv1.LabelIPAddressFamily: string(corev1.IPv4Protocol), networkingv1.LabelManagedBy: "ipallocator.k8s.io"},
		},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: svc.Namespace, Name: svc.Name}},
	})
	return claim{key: addressPrefix + ip, value: value}, err
}

func (s *Services) portClaim(port int32, svc *corev1.Service) (claim, error) {
	value, err := json.Marshal(holder{Namespace: svc.Namespace, Name: svc.Name, Since: s.clock.Now()})
	return claim{key: portPrefix + strconv.Itoa(int(port)), value: value}, err
}

// take writes a claim whose key is free, or was left behind; else it returns errTaken.
func (s *Services) take(ctx context.Context, c claim) error {
	key := []byte(c.key)
	var was kv.KeyValue
	for range 3 {
		resp, err := s.kv.Txn(ctx, kv.TxnRequest{
			Compare: []kv.Compare{{Key: key, Target: kv.CompareMod, Result: kv.Equal, Number: was.ModRevision}},
			Then:    []kv.Op{{Put: &kv.PutRequest{Key: key, Value: c.value}}},
			Else:    []kv.Op{{Range: &kv.RangeRequest{Key: key}}},
		})
		if err != nil {
			return fmt.Errorf("claiming %s: %w", c.key, err)
		}
		if resp.Succeeded {
			return nil
		}
		was = kv.KeyValue{}
		if found := resp.Responses[0].Range.KVs; len(found) > 0 {
			was = found[0]
			left, err := s.leftBehind(ctx, was)
			if err != nil {
				return err
			}
			if !left {
				return errTaken
			}
		}
	}
	return errTaken
}

// leftBehind says whether a claim is old and its service does not have what it claims.
func (s *Services) leftBehind(ctx context.Context, found kv.KeyValue) (bool, error) {
	h, ok := holderOf(found)
	if !ok || s.clock.Since(h.Since) < abandoned {
		return false, nil
	}
	key := storage.Key(servicePrefix, h.Namespace, h.Name)
	resp, err := s.kv.Range(ctx, kv.RangeRequest{Key: []byte(key)})
	if err != nil {
		return false, fmt.Errorf("looking for the holder of %s: %w", found.Key, err)
	}
	if len(resp.KVs) == 0 {
		return true, nil
	}
	e, err := serviceCodec.Decode(key, resp.KVs[0].ModRevision, resp.KVs[0].Value)
	if err != nil {
		return false, err
	}
	svc := e.Object.(*corev1.Service)
	if ip, ok := strings.CutPrefix(string(found.Key), addressPrefix); ok {
		return !slices.Contains(addressesOf(svc), ip), nil
	}
	port, err := strconv.Atoi(strings.TrimPrefix(string(found.Key), portPrefix))
	return err == nil && !slices.Contains(portsOf(svc), int32(port)), nil
}

// holderOf reads a claim; false for one that no service made.
func holderOf(found kv.KeyValue) (h holder, ok bool) {
	key := string(found.Key)
	if !strings.HasPrefix(key, addressPrefix) {
		return h, json.Unmarshal(found.Value, &h) == nil
	}
	e, err := addressCodec.Decode(key, found.ModRevision, found.Value)
	if err != nil {
		return h, false
	}
	a := e.Object.(*networkingv1.IPAddress)
	if a.Spec.ParentRef == nil || a.Spec.ParentRef.Resource != "services" {
		return h, false
	}
	return holder{Namespace: a.Spec.ParentRef.Namespace, Name: a.Spec.ParentRef.Name, Since: a.CreationTimestamp.Time}, true
}

// free deletes a key. Whoever holds a claim frees it once, so that nobody else's can be meant.
func (s *Services) free(ctx context.Context, key string) error {
	_, err := s.kv.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: []byte(key)}}}})
	return err
}

// taken are the names below prefix.
func (s *Services) taken(ctx context.Context, prefix string) (map[string]bool, error) {
	resp, err := s.kv.Range(ctx, kv.RangeRequest{Key: []byte(prefix), End: kv.PrefixEnd([]byte(prefix)), KeysOnly: true})
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", prefix, err)
	}
	names := make(map[string]bool, len(resp.KVs))
	for _, found := range resp.KVs {
		names[strings.TrimPrefix(string(found.Key), prefix)] = true
	}
	return names, nil
}
