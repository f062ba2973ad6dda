"""Real nodes: a container for each, with containerd and a kubelet, next to the simulated nodes of a sandbox."""
