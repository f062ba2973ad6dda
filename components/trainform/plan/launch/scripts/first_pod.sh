#!/bin/sh
# Runs a command in the first pod of a role, and nothing in its other pods, which have the same template.
##
## `:?` because a pod whose index nobody has set is not the first one.
if [ "${TRAINFORM_REPLICA_INDEX:?}" != 0 ]; then
  echo "trainform: the first pod of the role runs this step" >&2
  exit 0
fi
exec "$@"
