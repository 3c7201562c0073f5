package watchcache

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// inconsistent stands in a token for "whatever is there when the next page is asked for".
const inconsistent = -1

// continueToken is Kubernetes' own form: where the next page starts, without the prefix of the list, and the revision
// that all pages show.
type continueToken struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"`
	StartKey        string `json:"start"`
}

const tokenVersion = "meta.k8s.io/v1"

func encodeContinue(revision int64, start, prefix string) string {
	b, err := json.Marshal(continueToken{tokenVersion, revision, strings.TrimPrefix(start, prefix)})
	if err != nil {
		panic("watchcache: a continue token did not encode: " + err.Error()) // strings and a number always do
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeContinue returns the revision, at most 0 for the present state, and the first key.
func decodeContinue(token, prefix string) (revision int64, start string, err error) {
	bad := func(why any) error {
		return apierrors.NewBadRequest(fmt.Sprintf("continue key is not valid: %v", why))
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return 0, "", bad(err)
	}
	var t continueToken
	if err := json.Unmarshal(b, &t); err != nil {
		return 0, "", bad(err)
	}
	switch {
	case t.APIVersion != tokenVersion:
		return 0, "", bad(fmt.Sprintf("server does not recognize this encoded version %q", t.APIVersion))
	case t.ResourceVersion == 0:
		return 0, "", bad("incorrect encoded start resourceVersion (version " + tokenVersion + ")")
	case t.StartKey == "":
		return 0, "", bad("encoded start key empty (version " + tokenVersion + ")")
	}
	return t.ResourceVersion, prefix + t.StartKey, nil
}
