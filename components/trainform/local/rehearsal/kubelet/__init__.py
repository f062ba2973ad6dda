"""What a kubelet would do with a pod, as pure functions."""
