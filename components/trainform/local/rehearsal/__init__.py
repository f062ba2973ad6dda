"""A rehearsal: the pods of a job as containers on this machine, before anything is queued for accelerators.

`workload` describes what is rehearsed, `sources` takes it from a plan or from a live cluster, and `run` runs it.
`kubelet` works out what a kubelet would do with the pods, `docker` makes containers of that, and only `docker.engine`
talks to Docker. `kubexec` lets pods call `kubectl exec`; `probe` replaces the training by a small program.
"""
