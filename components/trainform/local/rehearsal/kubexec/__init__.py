"""`kubectl exec` without an API server: a stand-in for kubectl in the pod, a relay beside it, and a bridge here that
asks Docker."""
