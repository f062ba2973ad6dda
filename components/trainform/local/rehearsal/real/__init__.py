"""A rehearsal on real nodes: the operator's own job, in a namespace of its own on a sandbox for rehearsals."""
