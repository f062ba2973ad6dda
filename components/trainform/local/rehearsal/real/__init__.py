"""A rehearsal on real nodes: the operator's own job, in a new namespace on a sandbox for rehearsals."""
