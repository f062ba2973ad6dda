# shellcheck shell=sh
## Follows start.sh, in the pod that launches: mpirun starts the processes of all hosts over SSH. The hostfile is in
## Open MPI's variables and not among these words, so that a value of the user's wins.
exec mpirun \
  -np "$NUM_PROCESSES" \
  "$@"
