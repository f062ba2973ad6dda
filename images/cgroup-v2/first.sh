#!/bin/sh
# The first program of the machine: its root is that of this machine, read-only, under a layer on a disk.
set -eu
mount -t devtmpfs dev /dev 2>/dev/null || true # the kernel has done it
mount -t tmpfs tmpfs /mnt
mkdir /mnt/disk /mnt/new
mount -t ext4 /dev/ubda /mnt/disk
mkdir -p /mnt/disk/upper /mnt/disk/work /mnt/disk/docker
mount -t overlay -o lowerdir=/,upperdir=/mnt/disk/upper,workdir=/mnt/disk/work overlay /mnt/new
cd /mnt/new
mkdir -p mnt/old
pivot_root . mnt/old
exec chroot . "${program:?}" </dev/console >/dev/console 2>&1 # a word of the command line of the kernel
