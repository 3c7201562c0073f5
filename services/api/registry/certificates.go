package registry

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func certificateKinds(o Options) []*Kind {
	row := o.rows()
	const group = "certificates.k8s.io"
	return []*Kind{
		entry[*certificatesv1.CertificateSigningRequestList](group, "v1", "certificatesigningrequests", rules[*certificatesv1.CertificateSigningRequest]{
			StatusKeepsMetadata: true,
			Validate:            validation.SigningRequest,
			PrepareCreate: func(ctx context.Context, r *certificatesv1.CertificateSigningRequest) {
				r.Spec.Username, r.Spec.UID, r.Spec.Groups, r.Spec.Extra = "", "", nil, nil
				user, ok := authn.UserFrom(ctx)
				if !ok {
					return
				}
				r.Spec.Username, r.Spec.UID, r.Spec.Groups = user.Name, user.UID, user.Groups
				if len(user.Extra) > 0 {
					r.Spec.Extra = make(map[string]certificatesv1.ExtraValue, len(user.Extra))
				}
				for key, values := range user.Extra {
					r.Spec.Extra[key] = values
				}
			},
			// What was asked for is what is decided on.
			PrepareUpdate:            func(_ context.Context, r, old *certificatesv1.CertificateSigningRequest) { r.Spec = old.Spec },
			AllowUnconditionalUpdate: true,
			NameCheck:                path.ValidatePathSegmentName,
			FieldNames:               []string{"spec.signerName"},
			Fields: func(r *certificatesv1.CertificateSigningRequest) fields.Set {
				return fields.Set{"spec.signerName": r.Spec.SignerName}
			},
			Columns: tables.SigningRequestColumns,
			Row:     row.SigningRequest,
		}),
		entry[*certificatesv1.ClusterTrustBundleList](group, "v1", "clustertrustbundles", rules[*certificatesv1.ClusterTrustBundle]{
			NameCheck:  path.ValidatePathSegmentName,
			FieldNames: []string{"spec.signerName"},
			Fields: func(b *certificatesv1.ClusterTrustBundle) fields.Set {
				return fields.Set{"spec.signerName": b.Spec.SignerName}
			},
			Columns: tables.TrustBundleColumns,
			Row:     row.TrustBundle,
		}),
		entry[*certificatesv1.PodCertificateRequestList](group, "v1", "podcertificaterequests", rules[*certificatesv1.PodCertificateRequest]{
			Default:    defaults.PodCertificateRequest,
			FieldNames: []string{"spec.signerName", "spec.podName", "spec.nodeName"},
			Fields: func(r *certificatesv1.PodCertificateRequest) fields.Set {
				return fields.Set{
					"spec.signerName": r.Spec.SignerName,
					"spec.podName":    r.Spec.PodName,
					"spec.nodeName":   string(r.Spec.NodeName),
				}
			},
		}),
	}
}
