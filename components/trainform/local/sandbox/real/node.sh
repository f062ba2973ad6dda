#!/bin/bash
# PID 1 of a real node: it makes the container a machine, and runs containerd, CoreDNS, kube-proxy and the kubelet.
#
# The sandbox has written /etc/trainform: certificates and kubeconfigs, kubelet.yaml, kube-proxy.yaml, Corefile, `size`
# (CPUs and KiB of memory that the node reports), `cni.json`, and, when all nodes have addresses, `peers`.
set -eu
shopt -s nullglob

given=/etc/trainform
store=/var/lib/containerd
snapshots=io.containerd.snapshotter.v1.overlayfs
content=io.containerd.content.v1.content
dns=169.254.53.53

# --- mounts and cgroups. Without `bind`, cgroup v1 answers "busy".

hierarchies=$(awk '$3 == "cgroup" { print $2 }' /proc/mounts)
for place in /sys $hierarchies; do
  mount -o remount,bind,rw "$place"
done
mount --make-rshared /
cgroups=/sys/fs/cgroup
if [ -f $cgroups/cgroup.controllers ]; then # v2: only a cgroup without processes may pass its controllers on
  mount -o remount,bind,rw $cgroups
  mkdir -p $cgroups/init $cgroups/kubelet
  xargs -rn1 <$cgroups/cgroup.procs >$cgroups/init/cgroup.procs 2>/dev/null || true
  read -ra controllers <$cgroups/cgroup.controllers
  for controller in "${controllers[@]}"; do
    echo "+$controller" >$cgroups/cgroup.subtree_control
    echo "+$controller" >$cgroups/kubelet/cgroup.subtree_control
  done
else
  for hierarchy in $hierarchies; do
    mkdir -p "$hierarchy/kubelet"
  done
  for file in cpuset.cpus cpuset.mems; do
    cat $cgroups/cpuset/$file >$cgroups/cpuset/kubelet/$file
  done
fi

# --- the size that the environment gives the node: the kubelet reads it from these files

read -r cpus memory <$given/size
mkdir -p /run/size/cpu /run/size/node
for number in $(seq 0 $((cpus - 1))); do
  mkdir "/run/size/cpu/cpu$number"
done
echo "0-$((cpus - 1))" >/run/size/cpu/online
mkdir /run/size/cpu/cpu0/cpufreq
echo 1000000 >/run/size/cpu/cpu0/cpufreq/cpuinfo_max_freq # in kHz: the kubelet does not start without one
sed "s/^MemTotal:.*/MemTotal: $memory kB/" /proc/meminfo >/run/size/meminfo
mount --bind /run/size/cpu /sys/devices/system/cpu
[ ! -d /sys/devices/system/node ] || mount --bind /run/size/node /sys/devices/system/node # not on every kernel
mount --bind /run/size/meminfo /proc/meminfo

# The kubelet sets these for the whole machine, unless it finds them as it wants them.
while read -r name value; do
  file=/run/size/${name//\//.}
  echo "$value" >"$file"
  mount --bind "$file" "/proc/sys/$name"
done <<'TUNABLES'
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
kernel/keys/root_maxkeys 1000000
kernel/keys/root_maxbytes 25000000
TUNABLES

# --- images: imported once, for all nodes. containerd's databases are copied, its layers are mounted. It removes content
# that its own database does not name, so its changes stay in the node. The lock on `used` ends with the node.

rm -rf $store /var/lib/cni /var/lib/kubelet # of the run before a restart
exec 8>/images/used
flock --shared 8
if [ -f /images/$snapshots/metadata.db ]; then
  exec 9>/images/lock
  flock --shared 9
  for database in io.containerd.metadata.v1.bolt/meta.db $snapshots/metadata.db; do
    mkdir -p "$store/${database%/*}"
    cp "/images/$database" "$store/$database"
  done
  mkdir -p $store/$snapshots/snapshots $store/$content $store/changed $store/work
  mount -t overlay -o "lowerdir=/images/$content,upperdir=$store/changed,workdir=$store/work" content $store/$content
  for layer in "/images/$snapshots/snapshots"/*; do
    mkdir -p "$store/$snapshots/snapshots/${layer##*/}"
    mount -o bind,ro "$layer" "$store/$snapshots/snapshots/${layer##*/}"
  done
  exec 9>&-
fi

# --- network: the pods of the other nodes are behind these

echo 1 >/proc/sys/net/ipv4/ip_forward
ip address add $dns/32 dev lo
mkdir -p /etc/cni/net.d
cp $given/cni.json /etc/cni/net.d/10-sandbox.conflist
until [ -s $given/peers ]; do # Docker makes a file before it writes it
  sleep 0.02
done
pods=""
while read -r address range; do
  pods="$pods${pods:+, }$range"
  [ "$address" = here ] || ip route replace "$range" via "$address"
done <$given/peers
nft -f - <<RULES
table ip sandbox {
  chain leaving {
    type nat hook postrouting priority srcnat;
    ip saddr { $pods } ip daddr != { $pods } masquerade
  }
}
RULES

# --- the programs

mkdir -p /var/log/trainform
declare -A names
run() {
  name=$1
  shift
  "$@" >"/var/log/trainform/$name.log" 2>&1 &
  names[$!]=$name
}
run containerd containerd --config /etc/containerd/config.toml
until ctr --namespace k8s.io version >/dev/null 2>&1; do
  sleep 0.02
done
ctr --namespace k8s.io images import /usr/lib/trainform/pause.tar >/dev/null
run coredns coredns -conf $given/Corefile
run kube-proxy kube-proxy --config=$given/kube-proxy.yaml --hostname-override="$(hostname)"
run kubelet kubelet --config=$given/kubelet.yaml --kubeconfig=$given/kubelet.kubeconfig \
  --hostname-override="$(hostname)" --cloud-provider=external # the sandbox has set the node's addresses
trap 'exit 0' TERM
wait -n -p ended || true
tail -n 5 "/var/log/trainform/${names[$ended]}.log" >&2
echo "${names[$ended]} has ended" >&2
exit 1
