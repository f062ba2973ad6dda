# shellcheck shell=sh
## Follows start.sh: the user's command, with this pod's rank or TF_CONFIG in its environment.
exec "$@"
