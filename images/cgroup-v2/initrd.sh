#!/bin/busybox sh
# The first program of the virtual machine: its root is that of this machine, read-only, under a layer on a disk.
set -eu
/bin/busybox --install -s /bin
while read -r module; do
  insmod "/$module"
done </modules
mount -t devtmpfs dev /dev
mkdir /lower /disk /new
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 root /lower
mount -t ext4 /dev/vda /disk
mkdir -p /disk/upper /disk/work /disk/docker
mount -t overlay -o lowerdir=/lower,upperdir=/disk/upper,workdir=/disk/work overlay /new
mount --move /disk /new/mnt
exec switch_root /new "${program:?}" # a word of the command line of the kernel
