package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// now is three hours after the creation of every object below.
var now = time.Date(2026, 5, 1, 15, 0, 0, 0, time.UTC)

const born = "creationTimestamp: '2026-05-01T12:00:00Z'"

// Each case is an object and its line in "kubectl get -o wide", columns separated by two spaces.
func TestRows(t *testing.T) {
	pod := func(spec, status string) string {
		return "metadata: {name: web, " + born + "}\nspec: " + spec + "\nstatus: " + status
	}
	one := "{nodeName: n1, containers: [{name: a}]}"
	for _, test := range []struct{ name, apiVersion, plural, in, row string }{
		{"pending pod", "v1", "pods", pod("{containers: [{name: a}]}", "{phase: Pending}"), "web  0/1  Pending  0  3h  <none>  <none>  <none>  <none>"},
		{"running pod", "v1", "pods", pod(one, "{phase: Running, podIP: 10.0.0.2, containerStatuses: [{name: a, ready: true, restartCount: 2, state: {running: {}}, lastState: {terminated: {exitCode: 1, finishedAt: '2026-05-01T14:57:00Z'}}}]}"),
			"web  1/1  Running  2 (3m ago)  3h  10.0.0.2  n1  <none>  <none>"},
		{"crashing pod", "v1", "pods", pod(one, "{phase: Running, containerStatuses: [{name: a, restartCount: 5, state: {waiting: {reason: CrashLoopBackOff}}}]}"),
			"web  0/1  CrashLoopBackOff  5  3h  <none>  n1  <none>  <none>"},
		{"starting pod", "v1", "pods", pod(one, "{phase: Pending, containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}"),
			"web  0/1  ContainerCreating  0  3h  <none>  n1  <none>  <none>"},
		{"failed pod", "v1", "pods", pod(one, "{phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 3}}}]}"),
			"web  0/1  ExitCode:3  0  3h  <none>  n1  <none>  <none>"},
		{"completed pod", "v1", "pods", pod(one, "{phase: Succeeded, containerStatuses: [{name: a, state: {terminated: {exitCode: 0, reason: Completed}}}]}"),
			"web  0/1  Completed  0  3h  <none>  n1  <none>  <none>"},
		{"terminating pod", "v1", "pods", strings.Replace(pod(one, "{phase: Running}"), "metadata: {", "metadata: {deletionTimestamp: '2026-05-01T14:00:00Z', ", 1),
			"web  0/1  Terminating  0  3h  <none>  n1  <none>  <none>"},
		{"initializing pod", "v1", "pods", pod("{initContainers: [{name: i}, {name: j}], containers: [{name: a}], readinessGates: [{conditionType: x}]}",
			"{phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 0}}}, {name: j, state: {running: {}}}]}"),
			"web  0/1  Init:1/2  0  3h  <none>  <none>  <none>  0/1"},
		{"pod with failing init", "v1", "pods", pod("{initContainers: [{name: i}], containers: [{name: a}]}", "{phase: Pending, initContainerStatuses: [{name: i, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}}]}"),
			"web  0/1  Init:CrashLoopBackOff  1  3h  <none>  <none>  <none>  <none>"},
		{"pod with sidecar", "v1", "pods", pod("{initContainers: [{name: s, restartPolicy: Always}], containers: [{name: a}]}",
			"{phase: Running, initContainerStatuses: [{name: s, started: true, ready: true, state: {running: {}}}], containerStatuses: [{name: a, ready: true, state: {running: {}}}]}"),
			"web  2/2  Running  0  3h  <none>  <none>  <none>  <none>"},
		{"deployment", "apps/v1", "deployments", "metadata: {name: web, " + born + "}\nspec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {spec: {containers: [{name: a, image: x}, {name: b, image: z}]}}}\nstatus: {readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}",
			"web  1/3  2  1  3h  a,b  x,z  app=web"},
		{"replica set", "apps/v1", "replicasets", "metadata: {name: web, " + born + "}\nspec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {spec: {containers: [{name: a, image: x}]}}}\nstatus: {replicas: 2, readyReplicas: 1}",
			"web  3  2  1  3h  a  x  app=web"},
		{"node", "v1", "nodes", "metadata: {name: n1, " + born + ", labels: {node-role.kubernetes.io/control-plane: ''}}\nspec: {unschedulable: true}\nstatus: {conditions: [{type: Ready, status: 'True'}], addresses: [{type: InternalIP, address: 10.0.0.1}], nodeInfo: {kubeletVersion: v1.37.2, osImage: Debian, kernelVersion: '6.1', containerRuntimeVersion: containerd://1.6}}",
			"n1  Ready,SchedulingDisabled  control-plane  3h  v1.37.2  10.0.0.1  <none>  Debian  6.1  containerd://1.6"},
		{"service", "v1", "services", "metadata: {name: web, " + born + "}\nspec: {type: NodePort, clusterIP: 10.96.0.7, clusterIPs: [10.96.0.7], selector: {app: web}, ports: [{port: 80, nodePort: 30080, protocol: TCP}, {port: 53, protocol: UDP}]}",
			"web  NodePort  10.96.0.7  <none>  80:30080/TCP,53/UDP  3h  app=web"},
		{"event", "v1", "events", "metadata: {name: e, " + born + "}\ninvolvedObject: {kind: Pod, name: web, fieldPath: 'spec.containers{a}'}\nreason: Pulled\nmessage: \"done\\n\"\ntype: Normal\nsource: {component: kubelet, host: n1}\nfirstTimestamp: '2026-05-01T14:00:00Z'\nlastTimestamp: '2026-05-01T14:59:00Z'\ncount: 4",
			"60s  Normal  Pulled  pod/web  spec.containers{a}  kubelet, n1  done  60m  4  e"},
		{"event of the newer style", "events.k8s.io/v1", "events", "metadata: {name: e, " + born + "}\nregarding: {kind: Pod, name: web}\nreason: Scheduled\nnote: done\ntype: Normal\nreportingController: scheduler\neventTime: '2026-05-01T14:00:00.000000Z'",
			"60m  Normal  Scheduled  pod/web    scheduler  done  60m  1  e"},
		{"endpoint slice", "discovery.k8s.io/v1", "endpointslices", "metadata: {name: s, " + born + "}\naddressType: IPv4\nports: [{port: 80}]\nendpoints: [{addresses: [10.0.0.1]}, {addresses: [10.0.0.2]}, {addresses: [10.0.0.3]}, {addresses: [10.0.0.4]}]",
			"s  IPv4  80  10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...  3h"},
		{"job", "batch/v1", "jobs", "metadata: {name: j, " + born + "}\nspec: {completions: 2, selector: {matchLabels: {a: b}}, template: {spec: {containers: [{name: a, image: x}]}}}\nstatus: {succeeded: 1, startTime: '2026-05-01T14:59:00Z'}",
			"j  Running  1/2  60s  3h  a  x  a=b"},
		{"autoscaler", "autoscaling/v1", "horizontalpodautoscalers", "metadata: {name: h, " + born + "}\nspec: {scaleTargetRef: {kind: Deployment, name: web}, minReplicas: 1, maxReplicas: 5, targetCPUUtilizationPercentage: 80}\nstatus: {currentReplicas: 2, desiredReplicas: 2, currentCPUUtilizationPercentage: 12}",
			"h  Deployment/web  cpu: 12%/80%  1  5  2  3h"},
		{"claim", "v1", "persistentvolumeclaims", "metadata: {name: c, " + born + "}\nspec: {volumeName: v, storageClassName: fast, volumeMode: Filesystem, resources: {}}\nstatus: {phase: Bound, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}}",
			"c  Bound  v  1Gi  RWO  fast  <unset>  3h  Filesystem"},
		{"default storage class", "storage.k8s.io/v1", "storageclasses", "metadata: {name: s, " + born + ", annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}\nprovisioner: p",
			"s (default)  p  Delete  Immediate  false  3h"},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := NewAll(Options{Clock: clocktesting.NewFakePassiveClock(now)})
			i := slices.IndexFunc(all, func(k *Kind) bool { return k.APIVersion() == test.apiVersion && k.Plural == test.plural })
			cells, err := all[i].Row(parse(t, all[i], test.in))
			if err != nil {
				t.Fatal(err)
			}
			texts := make([]string, len(cells))
			for i, c := range cells {
				texts[i] = fmt.Sprint(c)
			}
			if got := strings.Join(texts, "  "); got != test.row {
				t.Errorf("got  %s\nwant %s", got, test.row)
			}
		})
	}
}
