package registry

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	podYAML = `
metadata: {name: web, namespace: default, labels: {app: web}}
spec: {containers: [{name: nginx, image: nginx}]}
`
	deploymentYAML = `
metadata: {name: web, namespace: default}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: nginx, image: nginx}]}}}
`
)

// Each case is an object and every error that Kubernetes finds in it, word for word.
func TestValidation(t *testing.T) {
	pod := func(spec string) string {
		return "metadata: {name: web, namespace: default}\nspec:\n" + indent(spec)
	}
	for _, test := range []struct {
		name, apiVersion, plural, in string
		errs                         []string
	}{
		{"valid pod", "v1", "pods", podYAML, nil},
		{"no containers", "v1", "pods", pod("restartPolicy: Always"), []string{"spec.containers: Required value"}},
		{"nameless container", "v1", "pods", pod("containers: [{image: a}, {name: a}, {name: a, image: b}, {name: A_, image: b}]"), []string{
			"spec.containers[0].name: Required value", "spec.containers[1].image: Required value", `spec.containers[2].name: Duplicate value: "a"`,
			`spec.containers[3].name: Invalid value: "A_": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		}},
		{"wrong words", "v1", "pods", pod("restartPolicy: Sometimes\ndnsPolicy: Maybe\ncontainers: [{name: a, image: a, imagePullPolicy: Often}]"), []string{
			`spec.containers[0].imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"`,
			`spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"`,
			`spec.dnsPolicy: Unsupported value: "Maybe": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"`,
		}},
		{"ports", "v1", "pods", pod("containers: [{name: a, image: a, ports: [{containerPort: 0}, {containerPort: 70000, name: x, hostPort: 1}, {containerPort: 1, name: x, protocol: ICMP, hostPort: 1}]}]"), []string{
			"spec.containers[0].ports[0].containerPort: Required value",
			"spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
			`spec.containers[0].ports[2].name: Duplicate value: "x"`,
			`spec.containers[0].ports[2].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`,
		}},
		{"resources", "v1", "pods", pod("containers: [{name: a, image: a, resources: {limits: {cpu: 500m, bogus: 1}, requests: {cpu: \"1\", memory: \"-1\"}}}]"), []string{
			`spec.containers[0].resources.limits[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified`,
			`spec.containers[0].resources.limits[bogus]: Invalid value: "bogus": must be a standard resource for containers`,
			`spec.containers[0].resources.requests[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified`,
			`spec.containers[0].resources.requests[bogus]: Invalid value: "bogus": must be a standard resource for containers`,
			"spec.containers[0].resources.requests: Invalid value: \"1\": must be less than or equal to cpu limit of 500m",
			`spec.containers[0].resources.requests[memory]: Invalid value: "-1": must be greater than or equal to 0`,
		}},
		{"mounts", "v1", "pods", pod("containers: [{name: a, image: a, volumeMounts: [{name: none, mountPath: /a}, {name: v, mountPath: /a, subPath: ../x}, {name: v}]}]\nvolumes: [{name: v}]"), []string{
			`spec.containers[0].volumeMounts[0].name: Not found: "none"`,
			`spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique`,
			`spec.containers[0].volumeMounts[1].subPath: Invalid value: "../x": must not contain '..'`,
			"spec.containers[0].volumeMounts[2].mountPath: Required value",
		}},
		{"volumes", "v1", "pods", pod("containers: [{name: a, image: a}]\nvolumes: [{name: v, emptyDir: {}, secret: {secretName: s}}, {name: v, hostPath: {path: a/../b, type: Dir}}, {name: w, configMap: {items: [{key: a, path: ..b}]}}]"), []string{
			"spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
			`spec.volumes[1].hostPath.path: Invalid value: "a/../b": must not contain '..'`,
			`spec.volumes[1].hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
			`spec.volumes[1].name: Duplicate value: "v"`,
			"spec.volumes[2].configMap.name: Required value",
			`spec.volumes[2].configMap.items[0].path: Invalid value: "..b": must not start with '..'`,
		}},
		{"environment", "v1", "pods", pod("containers: [{name: a, image: a, env: [{name: A=B}, {name: B, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: C, valueFrom: {fieldRef: {fieldPath: spec.replicas}}}, {name: D, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]}]"), []string{
			`spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`,
			"spec.containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
			`spec.containers[0].env[2].valueFrom.fieldRef.fieldPath: Invalid value: "spec.replicas": error converting fieldPath: field label not supported: spec.replicas`,
			`spec.containers[0].env[3].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
		}},
		{"probes", "v1", "pods", pod("containers: [{name: a, image: a, livenessProbe: {successThreshold: 2, tcpSocket: {port: 1}}, readinessProbe: {terminationGracePeriodSeconds: 3, exec: {}, periodSeconds: -1}}]\ninitContainers: [{name: i, image: i, livenessProbe: {tcpSocket: {port: 1}}}]"), []string{
			"spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
			"spec.containers[0].readinessProbe.exec.command: Required value",
			"spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
			"spec.containers[0].readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for readinessProbes",
			"spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
		}},
		{"scheduling", "v1", "pods", pod("containers: [{name: a, image: a}]\ntolerations: [{operator: Equal, value: x}, {key: a, operator: Exists, tolerationSeconds: 5}]\naffinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}\ntopologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]"), []string{
			"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term",
			"spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
			"spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
			"spec.tolerations[1].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
		}},
		{"valid deployment", "apps/v1", "deployments", deploymentYAML, nil},
		{"selector and template", "apps/v1", "deployments", strings.Replace(deploymentYAML, "matchLabels: {app: web}", "matchLabels: {app: api}", 1), []string{
			"spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
		}},
		{"no selector", "apps/v1", "deployments", strings.Replace(deploymentYAML, "selector: {matchLabels: {app: web}}, ", "replicas: -1, ", 1), []string{
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0", "spec.selector: Required value",
			"spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
		}},
		{"strategy", "apps/v1", "deployments", strings.Replace(deploymentYAML, "spec: {sel", "spec: {strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0%}}, progressDeadlineSeconds: 5, minReadySeconds: 5, sel", 1), []string{
			"spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0",
			"spec.progressDeadlineSeconds: Invalid value: 5: must be greater than minReadySeconds",
		}},
		{"template that ends", "apps/v1", "deployments", strings.Replace(deploymentYAML, "containers:", "restartPolicy: Never, activeDeadlineSeconds: 5, containers:", 1), []string{
			`spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"`,
			"spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
		}},
		{"service", "v1", "services", `spec: {type: Magic, ports: [{port: 80}, {port: 80, name: a, nodePort: 30000}]}`, []string{
			"spec.ports[0].name: Required value",
			`spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80,"targetPort":0}`,
			`spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"`,
		}},
		{"service without ports", "v1", "services", `spec: {selector: {a: b}}`, []string{"spec.ports: Required value"}},
		{"config map", "v1", "configmaps", `{data: {a/b: x}}`, []string{
			`data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		}},
		{"config map that is too large", "v1", "configmaps", "data: {a: " + strings.Repeat("x", 1<<20+1) + "}", []string{
			"[]: Too long: may not be more than 1048576 bytes",
		}},
		{"tls secret", "v1", "secrets", `type: kubernetes.io/tls`, []string{"data[tls.crt]: Required value", "data[tls.key]: Required value"}},
		{"event", "v1", "events", `{metadata: {namespace: a}, involvedObject: {namespace: b}}`, []string{
			`involvedObject.namespace: Invalid value: "b": does not match event.namespace`,
		}},
		{"endpoint slice", "discovery.k8s.io/v1", "endpointslices", `{addressType: IPv4, endpoints: [{}, {addresses: [127.0.0.1]}, {addresses: ["::1"]}]}`, []string{
			"endpoints[0].addresses: Required value: must contain at least 1 address",
			`endpoints[1].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
			`endpoints[2].addresses[0]: Invalid value: "::1": must be an IPv4 address`,
		}},
		{"lease", "coordination.k8s.io/v1", "leases", `spec: {leaseDurationSeconds: 0, leaseTransitions: -1}`, []string{
			"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0", "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
		}},
		{"job", "batch/v1", "jobs", `spec: {manualSelector: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}`, []string{
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`,
		}},
		{"cron job", "batch/v1", "cronjobs", `spec: {schedule: "* * *", timeZone: Mars, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}`, []string{
			`spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]`, `spec.timeZone: Invalid value: "Mars": unknown time zone Mars`,
		}},
		{"role", "rbac.authorization.k8s.io/v1", "roles", `rules: [{resources: [pods]}, {verbs: [get], nonResourceURLs: [/x]}]`, []string{
			"rules[0].verbs: Required value: verbs must contain at least one value",
			"rules[0].apiGroups: Required value: resource rules must supply at least one api group",
			`rules[1].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs`,
		}},
		{"autoscaler", "autoscaling/v2", "horizontalpodautoscalers", `spec: {minReplicas: 5, maxReplicas: 3}`, []string{
			"spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`",
			"spec.scaleTargetRef.kind: Required value", "spec.scaleTargetRef.name: Required value",
		}},
		{"priority class", "scheduling.k8s.io/v1", "priorityclasses", `{metadata: {name: high}, value: 1000000001}`, []string{
			"value: Forbidden: maximum allowed value of a user defined priority is 1000000000",
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := kindNamed(t, test.apiVersion, test.plural)
			obj := parse(t, k, test.in)
			if k.Default != nil {
				k.Default(obj)
			}
			sameErrors(t, k.Validate(context.Background(), obj), test.errs)
		})
	}
}

// Each case is a change of a valid object and what Kubernetes says to it.
func TestUpdateValidation(t *testing.T) {
	const fixed = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`," +
		"`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n"
	for _, test := range []struct {
		name, apiVersion, plural, old, from, to string
		errs                                    []string
	}{
		{"pod image", "v1", "pods", podYAML, "image: nginx", "image: nginx:1.27, imagePullPolicy: Always", nil},
		{"pod command", "v1", "pods", podYAML, "image: nginx", "image: nginx, command: [sh]", []string{"spec: Forbidden: " + fixed + "*"}},
		{"pod containers", "v1", "pods", podYAML, "image: nginx}", "image: nginx}, {name: b, image: b}", []string{
			"spec.containers: Forbidden: pod updates may not add or remove containers",
		}},
		{"pod tolerations", "v1", "pods", strings.Replace(podYAML, "spec: {", "spec: {tolerations: [{key: a, operator: Exists}], ", 1), "key: a", "key: b", []string{
			"spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
		}},
		{"deployment selector", "apps/v1", "deployments", deploymentYAML, "app: web", "app: api", []string{
			`spec.selector: Invalid value: {"matchLabels":{"app":"api"}}: field is immutable`,
		}},
		{"secret type", "v1", "secrets", "type: a", "type: a", "type: b", []string{`type: Invalid value: "b": field is immutable`}},
		{"immutable config map", "v1", "configmaps", "{immutable: true, data: {a: b}}", "a: b", "a: c", []string{
			"data: Forbidden: field is immutable when `immutable` is set",
		}},
		{"stateful set", "apps/v1", "statefulsets", strings.Replace(deploymentYAML, "spec: {", "spec: {serviceName: a, ", 1), "serviceName: a", "serviceName: b", []string{
			"spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
		}},
		{"role of a binding", "rbac.authorization.k8s.io/v1", "rolebindings", "roleRef: {kind: Role, name: a}", "name: a", "name: b", []string{
			`roleRef: Invalid value: {"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"b"}: cannot change roleRef`,
		}},
		{"node pod range", "v1", "nodes", "spec: {podCIDR: 10.0.0.0/24}", "10.0.0.0", "10.0.1.0", []string{
			`spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid`,
		}},
		{"cluster address", "v1", "services", "spec: {clusterIP: 10.96.0.9, ports: [{port: 80}]}", "10.96.0.9", "10.96.0.10", []string{
			`spec.clusterIPs[0]: Invalid value: ["10.96.0.10"]: may not change once set`,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := context.Background()
			k := kindNamed(t, test.apiVersion, test.plural)
			old, obj := parse(t, k, test.old), parse(t, k, strings.ReplaceAll(test.old, test.from, test.to))
			if k.Default != nil {
				k.Default(old)
				k.Default(obj)
			}
			if k.PrepareCreate != nil {
				k.PrepareCreate(ctx, old)
			}
			if k.PrepareUpdate != nil {
				k.PrepareUpdate(ctx, obj, old)
			}
			sameErrors(t, k.ValidateUpdate(ctx, obj, old), test.errs)
		})
	}
}

// sameErrors compares texts; one that ends in * is the beginning of one.
func sameErrors(t *testing.T, errs field.ErrorList, want []string) {
	t.Helper()
	var texts []string
	for _, e := range errs {
		texts = append(texts, e.Error())
	}
	ok := len(texts) == len(want)
	for i := range want {
		start, open := strings.CutSuffix(want[i], "*")
		ok = ok && (texts[i] == want[i] || open && strings.HasPrefix(texts[i], start))
	}
	if !ok {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(texts, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n" }
