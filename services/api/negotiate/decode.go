package negotiate

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/orrery-io/orrery/services/api/warning"
)

// Decoder reads request bodies.
type Decoder struct {
	scheme       *runtime.Scheme
	json, strict runtime.Decoder
	yaml, yamlS  runtime.Decoder
	proto        runtime.Decoder
}

// NewDecoder makes a decoder of the types that scheme knows.
func NewDecoder(scheme *runtime.Scheme) *Decoder {
	text := func(yaml, strict bool) runtime.Decoder {
		return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: yaml, Strict: strict})
	}
	return &Decoder{
		scheme: scheme,
		json:   text(false, false), strict: text(false, true),
		yaml: text(true, false), yamlS: text(true, true),
		proto: protobuf.NewSerializer(scheme, scheme),
	}
}

// Decode reads body, whose media type is contentType ("" is JSON), into the empty object into of kind gvk. fieldValidation is
// Strict, Warn (also for "") or Ignore: what to do about unknown and duplicate fields. Every error is a *StatusError: 400, 413 or 415.
// Warnings go to ctx's recorder.
func (d *Decoder) Decode(ctx context.Context, body []byte, contentType string, gvk schema.GroupVersionKind, into runtime.Object, fieldValidation string) error {
	if err := CheckSize(body); err != nil {
		return err
	}
	decoder, err := d.decoder(contentType, fieldValidation != metav1.FieldValidationIgnore)
	if err != nil {
		return err
	}
	obj, actual, err := decoder.Decode(body, &gvk, into)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil && fieldValidation != metav1.FieldValidationStrict {
		for _, e := range strict.Errors() {
			warning.Add(ctx, e.Error())
		}
		err = nil
	}
	if err != nil {
		return decodeError(err, gvk, actual, body)
	}
	if actual != nil && actual.GroupVersion() != gvk.GroupVersion() {
		return apierrors.NewBadRequest(fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", actual.GroupVersion(), gvk.GroupVersion()))
	}
	if obj != into {
		err := fmt.Errorf("converting (%s) to (%s.%s): unknown conversion", typeName(obj), internalPackage(gvk.Group), gvk.Kind)
		return decodeError(err, gvk, actual, body)
	}
	into.GetObjectKind().SetGroupVersionKind(gvk)
	return nil
}

// DecodeDeleteOptions reads the body of a delete, which may name itself in any group version.
func (d *Decoder) DecodeDeleteOptions(body []byte, contentType string) (o metav1.DeleteOptions, err error) {
	if err := CheckSize(body); err != nil {
		return o, err
	}
	decoder, err := d.decoder(contentType, false)
	if err != nil {
		return o, err
	}
	gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	obj, actual, err := decoder.Decode(body, &gvk, &o)
	if err != nil {
		return o, decodeError(err, gvk, actual, body)
	}
	if obj != runtime.Object(&o) {
		return o, apierrors.NewBadRequest("decoded object cannot be converted to DeleteOptions")
	}
	o.TypeMeta = metav1.TypeMeta{}
	return o, CheckDeleteOptions(&o)
}

func (d *Decoder) decoder(contentType string, strict bool) (runtime.Decoder, error) {
	mediaType := JSON
	if contentType != "" {
		t, _, err := mime.ParseMediaType(contentType)
		if err != nil {
			return nil, UnsupportedMediaType(objectTypes...)
		}
		mediaType = t
	}
	switch mediaType {
	case JSON:
		if strict {
			return d.strict, nil
		}
		return d.json, nil
	case YAML:
		if strict {
			return d.yamlS, nil
		}
		return d.yaml, nil
	case Protobuf:
		return d.proto, nil
	}
	return nil, UnsupportedMediaType(objectTypes...)
}

// decodeError is 400 in Kubernetes' words: they name the kind in the body where it could be read, else show the body's beginning.
func decodeError(err error, want schema.GroupVersionKind, actual *schema.GroupVersionKind, body []byte) error {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code != 0 {
		return err
	}
	if actual != nil && actual.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", actual.Kind, actual.Version, want.Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", want.Kind, err, summary(body, 30)))
}

// summary shows the beginning of a body: as text when it looks like JSON, else in hexadecimal.
func summary(body []byte, limit int) string {
	if len(body) == 0 {
		return "<empty>"
	}
	tail := ""
	if len(body) > limit {
		body, tail = body[:limit], " ..."
	}
	if body[0] == '{' {
		return string(body) + tail
	}
	return hex.EncodeToString(body) + tail
}

func typeName(obj any) string {
	t := reflect.TypeOf(obj)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.String()
}

// internalPackage is the name that Kubernetes' error texts have for a group's types: "core", "apps", "rbac".
func internalPackage(group string) string {
	if group == "" {
		return "core"
	}
	for i, c := range group {
		if c == '.' {
			return group[:i]
		}
	}
	return group
}
