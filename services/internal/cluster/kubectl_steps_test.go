package cluster_test

import "strings"

const webYAML = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: nginx
        image: nginx:1.27
        resources: {requests: {cpu: 10m, memory: 16Mi}}
        ports: [{containerPort: 80}]
`

const settingsYAML = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: red}
`

// kubectlSteps are done in this order; each stands on the ones before it.
var kubectlSteps = []step{
	// The server.
	{args: "version", want: []string{`^Server Version: v1\.37\.`}},
	{args: "cluster-info", want: []string{`control plane.* is running at .*https://127\.0\.0\.1:\d+`}},
	{args: "api-versions", want: []string{`^apps/v1$`, `^v1$`, `^rbac.authorization.k8s.io/v1$`}},
	{args: "api-resources", want: []string{`^NAME\s+SHORTNAMES\s+APIVERSION\s+NAME.PACED\s+KIND$`, `^deployments\s+deploy\s+apps/v1\s+true\s+Deployment$`, `^nodes\s+no\s+v1\s+false\s+Node$`}},
	{args: "get --raw /readyz", want: []string{`^ok$`}},
	{args: "explain deployment.spec.replicas", want: []string{`^GROUP:\s+apps$`, `^KIND:\s+Deployment$`, `^FIELD: replicas <integer>$`, `Number of desired pods`}},
	{args: "explain pods", want: []string{`^KIND:\s+Pod$`, `^\s+spec\s+<PodSpec>$`}},
	{args: "auth can-i create pods", want: []string{`^yes$`}},
	{args: "auth whoami", want: []string{`^Username\s+kubernetes-admin$`, `system:masters`}},
	{args: "top nodes", code: 1, want: []string{`Metrics API not available`}},
	{args: "get comets", code: 1, want: []string{`^error: the server doesn't have a resource type "comets"$`}},

	// Nodes.
	{args: "get nodes", want: []string{`^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION$`, `^node-1\s+Ready\s+<none>\s+\S+\s+v1\.37\.`, `^node-2\s+Ready\s`}},
	{args: "get nodes -o wide", want: []string{`INTERNAL-IP\s+EXTERNAL-IP\s+OS-IMAGE\s+KERNEL-VERSION\s+CONTAINER-RUNTIME$`}},
	{args: "describe node node-1", want: []string{`^Name:\s+node-1$`, `^\s+Ready\s+True\s`, `^Non-terminated Pods:`, `^\s+pods:\s+110$`, `^Taints:\s+<none>$`}},

	// A Deployment.
	{args: "create namespace NAMESPACE", want: []string{`^namespace/NAMESPACE created$`}},
	{args: "get namespace NAMESPACE", want: []string{`^NAMESPACE\s+Active\s`}},
	{args: "apply -f -", stdin: webYAML, want: []string{`^deployment.apps/web created$`}},
	{args: "apply -f -", stdin: webYAML, want: []string{`^deployment.apps/web unchanged$`}},
	{args: "diff -f -", stdin: strings.Replace(webYAML, "replicas: 3", "replicas: 5", 1), code: 1, want: []string{`^-  replicas: 3$`, `^\+  replicas: 5$`}},
	{args: "diff -f -", stdin: webYAML},
	{args: "apply -f - --dry-run=server", stdin: strings.Replace(webYAML, "replicas: 3", "replicas: 5", 1), want: []string{`^deployment.apps/web configured \(server dry run\)$`}},
	{args: "wait --for=condition=Available deployment/web --timeout=60s", want: []string{`^deployment.apps/web condition met$`}},
	{args: "rollout status deployment/web --timeout=60s", want: []string{`^deployment "web" successfully rolled out$`}},
	{args: "get deployment web", want: []string{`^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE$`, `^web\s+3/3\s+3\s+3\s+\d+s$`}},
	{args: "get deployments -o wide", want: []string{`AGE\s+CONTAINERS\s+IMAGES\s+SELECTOR$`, `\snginx\s+nginx:1.27\s+app=web$`}},
	{args: "get replicasets", want: []string{`^NAME\s+DESIRED\s+CURRENT\s+READY\s+AGE$`, `^web-[a-z0-9]+\s+3\s+3\s+3\s`}},
	{args: "get pods", want: []string{`^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE$`, `^web-[a-z0-9]+-[a-z0-9]{5}\s+1/1\s+Running\s+0\s`}},
	{args: "get pods -o wide", want: []string{`IP\s+NODE\s+NOMINATED NODE\s+READINESS GATES$`, `\s10\.244\.\d+\.\d+\s+node-[12]\s+<none>\s+<none>$`}},
	{args: "get pods -o name", want: []string{`^pod/web-`}},
	{args: "get pods --show-labels", want: []string{`\sLABELS$`, `\sapp=web,pod-template-hash=[a-z0-9]+$`}},
	{args: "get pods -L app --sort-by=.metadata.name", want: []string{`\sAPP$`, `\sweb$`}},
	{args: "get pods -l app!=web", want: []string{`^No resources found in NAMESPACE namespace\.$`}},
	{args: "get pods --field-selector=status.phase=Running --no-headers", want: []string{`^web-`}},
	{args: "get deployment web -o yaml", want: []string{`^apiVersion: apps/v1$`, `^kind: Deployment$`, `^  replicas: 3$`}},
	{args: "get deployment web -o json", want: []string{`^    "kind": "Deployment",$`}},
	{args: "get deployment web -o jsonpath={.spec.replicas}", want: []string{`^3$`}},
	{args: "get deployment web -o custom-columns=NAME:.metadata.name,WANT:.spec.replicas", want: []string{`^NAME\s+WANT$`, `^web\s+3$`}},
	{args: "get all", want: []string{`^pod/web-`, `^deployment.apps/web\s`, `^replicaset.apps/web-`}},
	{args: "get deployments,pods --chunk-size=2", want: []string{`^deployment.apps/web\s`, `^pod/web-`}},
	{args: "describe deployment web", want: []string{`^Replicas:\s+3 desired \| 3 updated \| 3 total \| 3 available \| 0 unavailable$`, `^StrategyType:\s+RollingUpdate$`, `^RollingUpdateStrategy:\s+25% max unavailable, 25% max surge$`, `^\s+Available\s+True\s+MinimumReplicasAvailable$`, `^\s+Normal\s+ScalingReplicaSet\s.*deployment-controller\s+Scaled up replica set web-[a-z0-9]+ from 0 to 3$`}},
	{args: "describe pods -l app=web --show-events=true", want: []string{`^Status:\s+Running$`, `^QoS Class:\s+Burstable$`, `Normal\s+Scheduled\s.*default-scheduler\s+Successfully assigned NAMESPACE/web-\S+ to node-[12]$`, `Normal\s+Started\s+\S+.*\s+kubelet\s+`}},
	{args: "logs deployment/web"},
	{args: "events", want: []string{`ScalingReplicaSet`}},
	{args: "get events --field-selector=reason=Scheduled", want: []string{`^LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE$`, `\sNormal\s+Scheduled\s+pod/web-`}},

	// Changes.
	{args: "scale deployment/web --replicas=2", want: []string{`^deployment.apps/web scaled$`}},
	{args: "scale deployment/web --current-replicas=7 --replicas=2", code: 1, want: []string{`Expected replicas to be 7, was 2`}},
	{args: "set image deployment/web nginx=nginx:1.28", want: []string{`^deployment.apps/web image updated$`}},
	{args: "rollout status deployment/web --timeout=60s", want: []string{`successfully rolled out$`}},
	{args: "rollout history deployment/web", want: []string{`^REVISION\s+CHANGE-CAUSE$`, `^1\s+<none>$`, `^2\s+<none>$`}},
	{args: "rollout history deployment/web --revision=2", want: []string{`with revision #2$`, `Image:\s+nginx:1.28$`}},
	{args: "rollout undo deployment/web", want: []string{`^deployment.apps/web rolled back$`}},
	{args: "rollout status deployment/web --timeout=60s", want: []string{`successfully rolled out$`}},
	{args: "get deployment web -o jsonpath={..image}", want: []string{`^nginx:1.27$`}},
	{args: "rollout restart deployment/web", want: []string{`^deployment.apps/web restarted$`}},
	{args: "rollout status deployment/web --timeout=60s", want: []string{`successfully rolled out$`}},
	{args: "rollout pause deployment/web", want: []string{`^deployment.apps/web paused$`}},
	{args: "rollout undo deployment/web", code: 1, want: []string{`cannot rollback a paused deployment`}},
	{args: "rollout resume deployment/web", want: []string{`^deployment.apps/web resumed$`}},
	{args: "set env deployment/web COLOUR=red", want: []string{`^deployment.apps/web env updated$`}},
	{args: "set env deployment/web --list", want: []string{`^COLOUR=red$`}},
	{args: "set resources deployment/web --limits=memory=64Mi", want: []string{`^deployment.apps/web resource requirements updated$`}},
	{args: "label deployment web tier=front", want: []string{`^deployment.apps/web labeled$`}},
	{args: "label deployment web tier=back", code: 1, want: []string{`'tier' already has a value \(front\), and --overwrite is false`}},
	{args: "label deployment web tier-", want: []string{`^deployment.apps/web unlabeled$`}},
	{args: "label deployment web tier='not ok'", code: 1},
	{args: "annotate deployment web note=1", want: []string{`^deployment.apps/web annotated$`}},
	{args: `patch deployment web -p '{"spec":{"replicas":3}}'`, want: []string{`^deployment.apps/web patched$`}},
	{args: `patch deployment web -p '{"spec":{"replicas":3}}'`, want: []string{`^deployment.apps/web patched \(no change\)$`}},
	{args: `patch deployment web --type=merge -p '{"metadata":{"labels":{"kind":"merge"}}}'`, want: []string{`^deployment.apps/web patched$`}},
	{args: `patch deployment web --type=json -p '[{"op":"replace","path":"/metadata/labels/kind","value":"json"}]'`, want: []string{`^deployment.apps/web patched$`}},
	{args: `patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'`, want: []string{`^scale.autoscaling/web patched$|^deployment.apps/web patched$`}},
	{args: "edit deployment web", env: []string{"KUBE_EDITOR=sed -i s/json/edited/"}, want: []string{`^deployment.apps/web edited$`}},
	{args: "get deployment web -o jsonpath={.metadata.labels.kind}", want: []string{`^edited$`}},
	{args: "edit deployment web", env: []string{"KUBE_EDITOR=true"}, want: []string{`^Edit cancelled, no changes made\.$`}},
	{args: "create -f -", stdin: settingsYAML, want: []string{`^configmap/settings created$`}},
	{args: "create -f -", stdin: settingsYAML, code: 1, want: []string{`^Error from server \(AlreadyExists\): error when creating "STDIN": configmaps "settings" already exists$`}},
	{args: "replace -f -", stdin: strings.Replace(settingsYAML, "red", "blue", 1), want: []string{`^configmap/settings replaced$`}},
	{args: "get configmap settings -o jsonpath={.data.colour}", want: []string{`^blue$`}},
	{args: "replace --force -f -", stdin: settingsYAML, want: []string{`^configmap "settings" deleted`, `^configmap/settings replaced$`}},
	{args: "apply -f -", stdin: strings.Replace(webYAML, "replicas: 3", "replicas: 3\n  foo: 1", 1), code: 1, want: []string{`strict decoding error: unknown field "spec.foo"`}},
	{args: "apply --validate=warn -f -", stdin: settingsYAML + "colour: red\n", want: []string{`^Warning: unknown field "colour"$`, `^configmap/settings configured$`}},
	{args: "apply -f -", stdin: strings.Replace(webYAML, "matchLabels: {app: web}", "matchLabels: {app: other}", 1), code: 1, want: []string{`^The Deployment "web" is invalid:`, "`selector` does not match template `labels`", `field is immutable`}},

	// Generators.
	{args: "create configmap made --from-literal=a=b", want: []string{`^configmap/made created$`}},
	{args: "create secret generic hidden --from-literal=a=b", want: []string{`^secret/hidden created$`}},
	{args: "describe secret hidden", want: []string{`^Type:\s+Opaque$`, `^a:\s+1 bytes$`}},
	{args: "create serviceaccount robot", want: []string{`^serviceaccount/robot created$`}},
	{args: "create role reader --verb=get,list --resource=pods", want: []string{`^role.rbac.authorization.k8s.io/reader created$`}},
	{args: "create rolebinding readers --role=reader --user=jane", want: []string{`^rolebinding.rbac.authorization.k8s.io/readers created$`}},
	{args: "auth can-i list pods --as=jane", want: []string{`^yes$`}},
	{args: "auth can-i create pods --as=jane", code: 1, want: []string{`^no$`}},
	{args: "get configmaps --as=jane", code: 1, want: []string{`^Error from server \(Forbidden\): configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in the namespace "NAMESPACE"$`}},
	{args: "create clusterrole NAMESPACE --verb=get --resource=nodes", want: []string{`^clusterrole.rbac.authorization.k8s.io/NAMESPACE created$`}},
	{args: "create quota small --hard=pods=100", want: []string{`^resourcequota/small created$`}},
	{args: "create job once --image=busybox:1.36 -- true", want: []string{`^job.batch/once created$`}},
	{args: "create cronjob often --image=busybox:1.36 '--schedule=*/5 * * * *' -- true", want: []string{`^cronjob.batch/often created$`}},
	{args: "create ingress door --rule=example.com/*=web:80", want: []string{`^ingress.networking.k8s.io/door created$`}},
	{args: "create poddisruptionbudget budget --selector=app=none --min-available=1", want: []string{`^poddisruptionbudget.policy/budget created$`}},
	{args: "create priorityclass NAMESPACE --value=10", want: []string{`^priorityclass.scheduling.k8s.io/NAMESPACE created$`}},
	{args: "create service clusterip plain --tcp=80:80", want: []string{`^service/plain created$`}},
	{args: "create deployment second --image=nginx:1.27 --replicas=1", want: []string{`^deployment.apps/second created$`}},
	{args: "expose deployment web --port=80", want: []string{`^service/web exposed$`}},
	{args: "get service web", want: []string{`^NAME\s+TYPE\s+CLUSTER-IP\s+EXTERNAL-IP\s+PORT\(S\)\s+AGE$`, `^web\s+ClusterIP\s+10\.\d+\.\d+\.\d+\s+<none>\s+80/TCP\s`}},
	{args: "wait --for=jsonpath={.endpoints[0].conditions.ready}=true endpointslice -l kubernetes.io/service-name=web --timeout=30s", want: []string{`condition met$`}},
	{args: "describe service web", want: []string{`^Selector:\s+app=web$`, `^Endpoints:\s+10\.244\.`}},
	{args: "autoscale deployment web --min=1 --max=5 --cpu-percent=50", want: []string{`^horizontalpodautoscaler.autoscaling/web autoscaled$`}},
	{args: "run one --image=nginx:1.27 --labels=run=one", want: []string{`^pod/one created$`}},
	{args: "wait --for=condition=Ready pod/one --timeout=30s", want: []string{`^pod/one condition met$`}},
	{args: "wait --for=jsonpath={.status.phase}=Running pod/one --timeout=30s", want: []string{`^pod/one condition met$`}},
	{args: "exec one -- true", code: 1, want: []string{`this node simulates its containers`}},
	{args: "delete pod one --grace-period=1", want: []string{`^pod "one" deleted`}},
	{args: "get pod one", code: 1, want: []string{`^Error from server \(NotFound\): pods "one" not found$`}},

	// Nodes again.
	{args: "cordon node-2", want: []string{`^node/node-2 cordoned$`}},
	{args: "get node node-2", want: []string{`^node-2\s+Ready,SchedulingDisabled\s`}},
	{args: "drain node-2 --ignore-daemonsets --force --timeout=60s", want: []string{`^node/node-2 already cordoned$`, `^node/node-2 drained$`}},
	{args: "get pods --field-selector=spec.nodeName=node-2 --no-headers", want: []string{`^No resources found`}},
	{args: "uncordon node-2", want: []string{`^node/node-2 uncordoned$`}},
	{args: "taint nodes node-2 only=me:NoSchedule", want: []string{`^node/node-2 tainted$`}},
	{args: "taint nodes node-2 only-", want: []string{`^node/node-2 untainted$`}},
}

// kubectlLastSteps clean up.
var kubectlLastSteps = []step{
	{args: "delete deployment second --cascade=orphan", want: []string{`^deployment.apps "second" deleted`}},
	{args: "get replicasets -l app=second -o name", want: []string{`^replicaset.apps/second-`}},
	{args: "delete deployment web --cascade=foreground --timeout=60s", want: []string{`^deployment.apps "web" deleted`}},
	{args: "get replicasets,pods -l app=web", want: []string{`^No resources found`}},
	{args: "delete configmap nothing", code: 1, want: []string{`configmaps "nothing" not found`}},
	{args: "delete clusterrole,priorityclass NAMESPACE", want: []string{`^clusterrole.rbac.authorization.k8s.io "NAMESPACE" deleted`, `^priorityclass.scheduling.k8s.io "NAMESPACE" deleted`}},
	{args: "delete namespace NAMESPACE --timeout=60s", want: []string{`^namespace "NAMESPACE" deleted`}},
	{args: "get namespace NAMESPACE", code: 1, want: []string{`namespaces "NAMESPACE" not found`}},
}
