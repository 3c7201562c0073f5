package cri

// Labels on sandboxes and containers, by which an agent finds its own again. The names are Kubernetes', and tools such as crictl show them.
const (
	LabelPodName       = "io.kubernetes.pod.name"
	LabelPodNamespace  = "io.kubernetes.pod.namespace"
	LabelPodUID        = "io.kubernetes.pod.uid"
	LabelContainerName = "io.kubernetes.container.name"
)

// Annotations on containers.
const (
	AnnotationHash              = "io.kubernetes.container.hash"
	AnnotationRestartCount      = "io.kubernetes.container.restartCount"
	AnnotationMessagePath       = "io.kubernetes.container.terminationMessagePath"
	AnnotationMessagePolicy     = "io.kubernetes.container.terminationMessagePolicy"
	AnnotationGracePeriod       = "io.kubernetes.pod.terminationGracePeriod"
	AnnotationPreStopHandler    = "io.kubernetes.container.preStopHandler"
	AnnotationPodDeletionPeriod = "io.kubernetes.pod.deletionGracePeriod"
)
