package images

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// dockerConfig is the content of a pull secret.
type dockerConfig struct {
	Auths map[string]dockerAuth `json:"auths"`
}

type dockerAuth struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// credentials looks for the image's registry in the pod's pull secrets; nil when none has it. Secrets that are missing or unreadable are
// passed over, as the pull may work without.
func (m *Manager) credentials(ctx context.Context, pod *corev1.Pod, image string) *runtimeapi.AuthConfig {
	registry := registryOf(image)
	for _, ref := range pod.Spec.ImagePullSecrets {
		secret, err := m.sources.Secret(ctx, pod.Namespace, ref.Name)
		if err != nil {
			m.logger.Warn("a pull secret cannot be read", "pod", pod.Namespace+"/"+pod.Name, "secret", ref.Name, "error", err)
			continue
		}
		config := dockerConfig{}
		if raw, ok := secret.Data[corev1.DockerConfigJsonKey]; ok {
			err = json.Unmarshal(raw, &config)
		} else if raw, ok := secret.Data[corev1.DockerConfigKey]; ok {
			err = json.Unmarshal(raw, &config.Auths)
		}
		if err != nil {
			m.logger.Warn("a pull secret is malformed", "pod", pod.Namespace+"/"+pod.Name, "secret", ref.Name, "error", err)
			continue
		}
		for host, auth := range config.Auths {
			if hostOf(host) == registry {
				return auth.cri(host)
			}
		}
	}
	return nil
}

// hostOf takes the host from "https://index.docker.io/v1/" and "registry.example.com" alike.
func hostOf(key string) string {
	if !strings.Contains(key, "://") {
		key = "https://" + key
	}
	u, err := url.Parse(key)
	if err != nil {
		return ""
	}
	if u.Host == "index.docker.io" || u.Host == "registry-1.docker.io" {
		return "docker.io"
	}
	return u.Host
}

func (a dockerAuth) cri(host string) *runtimeapi.AuthConfig {
	out := &runtimeapi.AuthConfig{Username: a.Username, Password: a.Password, IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken, ServerAddress: host}
	if out.Username == "" && a.Auth != "" {
		if raw, err := base64.StdEncoding.DecodeString(a.Auth); err == nil {
			out.Username, out.Password, _ = strings.Cut(string(raw), ":")
		}
	}
	return out
}
