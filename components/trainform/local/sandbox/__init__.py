"""A sandbox: a real Kubernetes control plane on loopback with simulated nodes, for users who have no cluster at
hand."""
