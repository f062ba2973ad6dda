"""A sandbox: a real Kubernetes control plane on loopback with simulated nodes, for users without a cluster."""
