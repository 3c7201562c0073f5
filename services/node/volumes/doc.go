// Package volumes gives pods their volumes: emptyDir, hostPath, configMap, secret, downwardAPI and projected ones.
//
// One idea: a volume is a folder below the pod's own; what comes from the api is written there so that a reader sees either all of the old
// files or all of the new ones (atomic.go), and again whenever its source has changed.
//
// manager.go makes and removes a pod's volumes, payload.go collects the files of those that come from the api, atomic.go writes them.
package volumes
