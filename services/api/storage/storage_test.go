package storage

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/memory"
)

var configMaps = NewCodec(corev1.SchemeGroupVersion.WithKind("ConfigMap"), func() object.Object { return &corev1.ConfigMap{} })

const key = Root + "configmaps/default/x"

func newStore(t *testing.T) (*Store, *memory.KV, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	m := memory.New(memory.Options{Clock: clock})
	t.Cleanup(m.Close)
	return New(m, clock), m, clock
}

func configMap(v string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}, Data: map[string]string{"k": v}}
}

func set(v string) func(*object.Entry) (Change, error) {
	return func(*object.Entry) (Change, error) { return Change{Object: configMap(v)}, nil }
}

func TestStoredBytesAreWhatReadersAreSent(t *testing.T) {
	s, m, _ := newStore(t)
	written, err := s.Create(t.Context(), configMaps, key, configMap("v"), 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Range(t.Context(), kv.RangeRequest{Key: []byte(key)})
	if err != nil {
		t.Fatal(err)
	}
	if value := string(r.KVs[0].Value); !strings.HasPrefix(value, "k8s\x00") || !strings.HasSuffix(value, string(written.Stored())) {
		t.Errorf("the value %q does not hold the object %q as it is", value, written.Stored())
	}
	read, err := s.Get(t.Context(), configMaps, key)
	if err != nil {
		t.Fatal(err)
	}
	var sent []byte
	for _, part := range read.Proto() {
		sent = append(sent, part...)
	}
	var got corev1.ConfigMap
	if err := got.Unmarshal(sent); err != nil || got.Data["k"] != "v" || got.ResourceVersion != written.Object.GetResourceVersion() {
		t.Errorf("a reader gets %+v, %v", got, err)
	}
	if _, err := NewCodec(corev1.SchemeGroupVersion.WithKind("Secret"), func() object.Object { return &corev1.Secret{} }).Decode(key, 1, r.KVs[0].Value); err == nil {
		t.Error("a ConfigMap was read as a Secret")
	}
}

func TestUpdateDoesNotBelieveAStaleVersion(t *testing.T) {
	s, _, _ := newStore(t)
	ctx := t.Context()
	old, err := s.Create(ctx, configMaps, key, configMap("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	now, err := s.Update(ctx, configMaps, key, old, set("2"))
	if err != nil {
		t.Fatal(err)
	}
	shown := func(e *object.Entry) string { return e.Object.(*corev1.ConfigMap).Data["k"] }

	// Nothing would change in the old version, but something does in the present one.
	r, err := s.Update(ctx, configMaps, key, old, set("1"))
	if err != nil || r.Entry.Revision <= now.Entry.Revision || shown(r.Entry) != "1" {
		t.Errorf("%+v, %v", r, err)
	}
	// An error about the old version is no answer about the present one.
	var seen []string
	r, err = s.Update(ctx, configMaps, key, now.Entry, func(cur *object.Entry) (Change, error) {
		seen = append(seen, shown(cur))
		if shown(cur) == "2" {
			return Change{}, errors.New("refused")
		}
		return Change{Object: configMap("3")}, nil
	})
	if err != nil || shown(r.Entry) != "3" || strings.Join(seen, " ") != "2 1" {
		t.Errorf("saw %q, then %v %v", seen, r.Entry, err)
	}
	// About the present one it is.
	if _, err = s.Update(ctx, configMaps, key, r.Entry, func(*object.Entry) (Change, error) { return Change{}, errors.New("refused") }); err == nil || err.Error() != "refused" {
		t.Errorf("error %v", err)
	}
	gone, err := s.Update(ctx, configMaps, key, old, func(*object.Entry) (Change, error) { return Change{Delete: true}, nil })
	if err != nil || !gone.Deleted || shown(gone.Entry) != "3" || gone.Entry.Revision <= r.Entry.Revision {
		t.Errorf("deleted %+v, %v", gone, err)
	}
	created, err := s.Update(ctx, configMaps, key, r.Entry, func(cur *object.Entry) (Change, error) {
		if cur != nil {
			return Change{}, errors.New("there is one")
		}
		return Change{Object: configMap("4")}, nil
	})
	if err != nil || !created.Created {
		t.Errorf("created %+v, %v", created, err)
	}
}

func TestObjectsThatExpireShareLeases(t *testing.T) {
	s, m, clock := newStore(t)
	lease := func(k string) int64 {
		t.Helper()
		if _, err := s.Create(t.Context(), configMaps, k, configMap("v"), 3600); err != nil {
			t.Fatal(err)
		}
		r, err := m.Range(t.Context(), kv.RangeRequest{Key: []byte(k)})
		if err != nil {
			t.Fatal(err)
		}
		return r.KVs[0].Lease
	}
	first, second := lease(key+"1"), lease(key+"2")
	clock.Step(2 * time.Minute)
	third := lease(key + "3")
	if first == 0 || first != second || third == first {
		t.Errorf("leases %d %d %d", first, second, third)
	}
}
