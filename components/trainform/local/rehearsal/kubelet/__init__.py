"""The kubelet's work for a pod, as pure functions: variables, files, volumes, places."""
