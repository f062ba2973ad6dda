#!/bin/bash
# containerd on the volume of all nodes' images, as long as one is imported: until the client closes the standard input,
# as its death does. Nodes that start meanwhile wait.
set -eu
mount --make-rshared /
cat >/run/containerd.toml <<'CONFIG'
version = 2
root = "/images"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
# Nothing is collected by itself: running nodes use the layers.
[plugins."io.containerd.gc.v1.scheduler"]
  mutation_threshold = 0
  startup_delay = "9000h"
CONFIG
flock --exclusive /images/lock containerd --config /run/containerd.toml &
cat <&0 &
wait -n
