package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each case is what a user writes and the whole of what Kubernetes makes of it.
func TestDefaults(t *testing.T) {
	for _, test := range []struct{ name, apiVersion, plural, in, out string }{
		{"pod", "v1", "pods", `
metadata: {name: web}
spec:
  serviceAccount: robot
  hostNetwork: true
  containers:
  - name: nginx
    image: nginx
    ports: [{containerPort: 80}]
    resources: {limits: {cpu: "1", memory: 64Mi}, requests: {memory: 32Mi}}
    env: [{name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
    livenessProbe: {httpGet: {port: 80}}
    readinessProbe: {grpc: {port: 9000}, periodSeconds: 3}
    lifecycle: {preStop: {httpGet: {port: 80}}}
  initContainers: [{name: init, image: "busybox:1.36"}]
  volumes:
  - name: scratch
  - {name: secret, secret: {secretName: s}}
  - {name: all, projected: {sources: [{serviceAccountToken: {path: token}}, {downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}]}}
  - {name: host, hostPath: {path: /tmp}}
`, `
metadata: {name: web}
spec:
  serviceAccount: robot
  serviceAccountName: robot
  hostNetwork: true
  enableServiceLinks: true
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 30
  containers:
  - name: nginx
    image: nginx
    imagePullPolicy: Always
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]
    resources: {limits: {cpu: "1", memory: 64Mi}, requests: {cpu: "1", memory: 32Mi}}
    env: [{name: IP, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: status.podIP}}}]
    livenessProbe: {httpGet: {path: /, port: 80, scheme: HTTP}, timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3}
    readinessProbe: {grpc: {port: 9000, service: ""}, timeoutSeconds: 1, periodSeconds: 3, successThreshold: 1, failureThreshold: 3}
    lifecycle: {preStop: {httpGet: {path: /, port: 80, scheme: HTTP}}}
  initContainers:
  - {name: init, image: "busybox:1.36", imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: secret, secret: {secretName: s, defaultMode: 420}}
  - {name: all, projected: {defaultMode: 420, sources: [{serviceAccountToken: {path: token, expirationSeconds: 3600}}, {downwardAPI: {items: [{path: name, fieldRef: {apiVersion: v1, fieldPath: metadata.name}}]}}]}}
  - {name: host, hostPath: {path: /tmp, type: ""}}
`},
		{"deployment", "apps/v1", "deployments", `
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: "nginx@sha256:0123456789012345678901234567890123456789012345678901234567890123", resources: {limits: {cpu: "1"}}}]}
`, `
metadata: {name: web}
spec:
  replicas: 1
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      restartPolicy: Always
      dnsPolicy: ClusterFirst
      schedulerName: default-scheduler
      securityContext: {}
      terminationGracePeriodSeconds: 30
      containers:
      - name: nginx
        image: nginx@sha256:0123456789012345678901234567890123456789012345678901234567890123
        imagePullPolicy: IfNotPresent
        terminationMessagePath: /dev/termination-log
        terminationMessagePolicy: File
        resources: {limits: {cpu: "1"}}
`},
		{"recreate has no rolling update", "apps/v1", "deployments", `
spec: {strategy: {type: Recreate}, template: {spec: {restartPolicy: Never, dnsPolicy: Default, schedulerName: s, terminationGracePeriodSeconds: 0, securityContext: {}}}}
`, `
spec:
  replicas: 1
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  selector: null
  strategy: {type: Recreate}
  template: {spec: {containers: null, restartPolicy: Never, dnsPolicy: Default, schedulerName: s, terminationGracePeriodSeconds: 0, securityContext: {}}}
`},
		{"service", "v1", "services", `
metadata: {name: web}
spec: {selector: {app: web}, sessionAffinity: ClientIP, ports: [{port: 80}, {name: b, port: 81, targetPort: http}]}
`, `
metadata: {name: web}
spec:
  type: ClusterIP
  selector: {app: web}
  sessionAffinity: ClientIP
  sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}
  internalTrafficPolicy: Cluster
  ports: [{port: 80, protocol: TCP, targetPort: 80}, {name: b, port: 81, protocol: TCP, targetPort: http}]
`},
		{"node port service", "v1", "services", `spec: {type: NodePort, ports: [{port: 80}]}`,
			`spec: {type: NodePort, sessionAffinity: None, externalTrafficPolicy: Cluster, internalTrafficPolicy: Cluster, ports: [{port: 80, protocol: TCP, targetPort: 80}]}`},
		{"namespace", "v1", "namespaces", `metadata: {name: shop, labels: {team: a}}`,
			`{metadata: {name: shop, labels: {team: a, kubernetes.io/metadata.name: shop}}, status: {phase: Active}}`},
		{"secret", "v1", "secrets", `{stringData: {a: hello}, data: {a: YQ==, b: Yg==}}`, `{type: Opaque, data: {a: aGVsbG8=, b: Yg==}}`},
		{"node", "v1", "nodes", `{spec: {podCIDR: 10.1.0.0/24}, status: {capacity: {cpu: "2"}}}`,
			`{spec: {podCIDR: 10.1.0.0/24, podCIDRs: [10.1.0.0/24]}, status: {capacity: {cpu: "2"}, allocatable: {cpu: "2"}}}`},
		{"job", "batch/v1", "jobs", `spec: {template: {spec: {restartPolicy: Never, dnsPolicy: Default, schedulerName: s, terminationGracePeriodSeconds: 0, securityContext: {}}}}`,
			`spec: {parallelism: 1, completions: 1, backoffLimit: 6, completionMode: NonIndexed, suspend: false, podReplacementPolicy: TerminatingOrFailed, template: {spec: {containers: null, restartPolicy: Never, dnsPolicy: Default, schedulerName: s, terminationGracePeriodSeconds: 0, securityContext: {}}}}`},
		{"autoscaler", "autoscaling/v2", "horizontalpodautoscalers", `spec: {maxReplicas: 3, behavior: {scaleDown: {policies: [{type: Pods, value: 1, periodSeconds: 60}]}}}`, `
spec:
  minReplicas: 1
  maxReplicas: 3
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
  behavior:
    scaleUp: {selectPolicy: Max, stabilizationWindowSeconds: 0, policies: [{type: Pods, value: 4, periodSeconds: 15}, {type: Percent, value: 100, periodSeconds: 15}]}
    scaleDown: {selectPolicy: Max, policies: [{type: Pods, value: 1, periodSeconds: 60}]}
`},
		{"cluster role binding", "rbac.authorization.k8s.io/v1", "clusterrolebindings",
			`{roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: User, name: jane}, {kind: ServiceAccount, name: a, namespace: b}]}`,
			`{roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: jane}, {kind: ServiceAccount, name: a, namespace: b}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := kindNamed(t, test.apiVersion, test.plural)
			obj := parse(t, k, test.in)
			k.Default(obj)
			if diff := cmp.Diff(show(t, parse(t, k, test.out)), show(t, obj)); diff != "" {
				t.Errorf("- Kubernetes, + here:\n%s", diff)
			}
		})
	}
}
