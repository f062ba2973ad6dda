"""A rehearsal: a job on this machine, before anything is queued for accelerators.

`workload` describes the pods, and `sources` reads them from a plan or a live cluster. `real` runs the operator's own
job on real nodes. `run` has the display, records and report of both, and emulates the nodes: `kubelet` works out what a
kubelet would do with the pods, and `docker` makes containers of that. `kubexec` lets pods call `kubectl exec`; `probe`
replaces the training by a small program.
"""
