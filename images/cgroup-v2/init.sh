#!/bin/sh
# PID 1 of the machine, after lines of tools/cgroup_v2.py that set its variables and the command: mounts as
# systemd makes them, with cgroup v2; Docker; the command. The console ends with the exit code.
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm "$DOCKER_DATA"
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount --bind /mnt/old/mnt/disk/docker "$DOCKER_DATA" # not on the overlay, on which Docker cannot have its own
"$KERNEL/bin/busybox" ip link set lo up
"$KERNEL/bin/busybox" hostname cgroup-v2

mkfifo /run/console # programs that write into a pipe draw nothing
cat </run/console &
(cd "$CHECKOUT" && "$PYTHON" -m tools.docker_daemon ensure && "$@") </dev/null >/run/console 2>&1
echo "exit code $?"
sync
"$KERNEL/bin/busybox" poweroff -f
