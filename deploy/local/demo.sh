#!/usr/bin/env bash
# make demo: a cluster, and three web servers on it. The image is built from the distribution's packages and served by a
# local registry, so that the demo needs no account and no internet registry.
. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" = 0 ] && deploy/local/deps.sh; then
	make --no-print-directory images
	UPFLAGS="${UPFLAGS:-} --registry-mirror docker.io=http://$(serve_images)"
	export UPFLAGS
fi
deploy/local/up.sh
export KUBECONFIG=$KUBECONFIG_FILE
echo '$ kubectl apply -f deploy/examples/web.yaml'
bin/orrery kubectl apply -f deploy/examples/web.yaml
bin/orrery kubectl rollout status deployment/web --timeout=120s
echo '$ kubectl get deployments,replicasets,pods -o wide'
bin/orrery kubectl get deployments,replicasets,pods -l app=web -o wide
