#!/bin/sh
# runc, after new claims were opened for all users, as most drivers do it: containerd makes the folder for root alone.
find /sandbox -mindepth 1 -maxdepth 1 -type d -perm 0755 -empty -exec chmod 0777 {} +
exec /usr/sbin/runc "$@"
