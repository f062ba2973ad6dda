"""A rehearsal: the pods of a job as containers on this machine, before anything is queued for accelerators.

`stage` says what is rehearsed, `run.rehearse` does it, `sources` takes the pods from a plan or from a live cluster. The pure rooms
(`fields`, `env`, `contents`, `volumes`, `placement`, `bodies`, `forwarding`) translate what a kubelet would do into containers;
only `engine` talks to Docker.
"""
