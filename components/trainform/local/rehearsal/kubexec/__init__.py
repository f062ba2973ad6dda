"""`kubectl exec` without an API server: a stand-in for kubectl, which a relay in the called pod answers."""
