"""`kubectl exec` without an API server: a stand-in for kubectl and a relay in the pod, and a bridge here to Docker."""
