"""Takes the place of a TensorFlow program: checks TF_CONFIG against the plan, starts a server per task and computes on
all of them.

The coordinator (chief, else worker 0) adds one number of every worker and parameter server over gRPC, waits until each
worker has found every task, then lets the workers end. Parameter servers stay until the job is over, as real ones do.
Exit code 0, or 1 and one line that says which task or address is wrong.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainform.local.rehearsal.probes import probe_world as world
else:  # inside the container both files stand in one folder, which is not a package
    import probe_world as world

EVALUATOR = "evaluator"
NO_PORT = "which has no port"
FOUND_ALL, MAY_END = "found_all", "may_end"  # the message of a worker to the coordinator, and the answer
# seconds that a worker waits after its last message: the coordinator still cleans up there, and logs an error otherwise
LINGER = 2.0


class Task:
    """The pod's part of the cluster, read from TF_CONFIG."""

    def __init__(self, kind: str, index: int, cluster: dict[str, list[str]]) -> None:
        self.kind, self.index, self.cluster = kind, index, cluster

    @property
    def name(self) -> str:
        """Return the name of the task, such as `worker 1`."""
        return f"{self.kind} {self.index}"

    @property
    def coordinates(self) -> bool:
        """Return True if this task is the one that asks the others."""
        return (self.kind, self.index) == ("chief" if self.cluster.get("chief") else "worker", 0)

    def tasks(self) -> list[tuple[str, int, str]]:
        """Return all tasks of the cluster, each with type, index and address."""
        return [(kind, index, address) for kind, all in self.cluster.items() for index, address in enumerate(all)]


def read_task(environ: Mapping[str, str]) -> Task | None:
    """Return the pod's task; None without TF_CONFIG, for one replica. ProbeError if it is not as planned."""
    planned: dict[str, int] = json.loads(environ.get("TRAINFORM_EXPECT_CLUSTER", "{}"))
    planned_tasks = ", ".join(f"{count} {kind}" for kind, count in planned.items())
    if not environ.get("TF_CONFIG"):
        if sum(planned.values()) > 1:
            raise world.ProbeError(f"TF_CONFIG is not set on {world.own_name(environ)}, the plan says {planned_tasks}")
        return None
    try:
        config = json.loads(environ["TF_CONFIG"])
        task = Task(str(config["task"]["type"]), int(config["task"]["index"]), dict(config["cluster"]))
    except (ValueError, KeyError, TypeError) as error:
        raise world.ProbeError(
            f"TF_CONFIG on {world.own_name(environ)} is not what TensorFlow reads: {error!r}"
        ) from None
    for problem in _problems(task, planned, environ):
        raise world.ProbeError(f"TF_CONFIG on {world.own_name(environ)} {problem}")
    return task


def _problems(task: Task, planned: Mapping[str, int], environ: Mapping[str, str]) -> list[str]:
    counts = {kind: len(addresses) for kind, addresses in task.cluster.items()}
    problems = [
        f"has {counts.get(kind, 0)} {kind}, the plan says {planned.get(kind, 0)}"
        for kind in [*planned, *sorted(counts.keys() - planned.keys())]
        if counts.get(kind, 0) != planned.get(kind, 0)
    ]
    mine = environ.get("TRAINFORM_EXPECT_TASK")
    if mine is not None and mine != task.kind:
        problems.append(f"says task {task.kind}, the plan says {mine}")
    if task.kind != EVALUATOR and task.index >= counts.get(task.kind, 0):
        problems.append(f"says task {task.name}, which its cluster does not have")
    return problems + [
        f"has {kind} {index} at {address}, {NO_PORT}"
        for kind, index, address in task.tasks()
        if not address.rpartition(":")[2].isdigit() or not address.rpartition(":")[0]
    ]


def silent_tasks(task: Task) -> list[str]:
    """Return the other tasks that do not answer at their address, each with the reason."""
    found = []
    for kind, index, address in task.tasks():
        host, _, port = address.rpartition(":")
        reason = None if (kind, index) == (task.kind, task.index) else world.why_silent(host, int(port))
        if reason is not None:
            found.append(f"{kind} {index} ({reason})")
    return found


def wait_for_tasks(task: Task, deadline: float) -> None:
    """Wait until every task answers. ProbeError with those that do not before the (monotonic) deadline."""
    while True:
        silent = silent_tasks(task)
        if not silent:
            return
        if time.monotonic() >= deadline:
            raise world.ProbeError(
                f"the cluster did not form within {world.read_timeout(os.environ):g} s: missing: {', '.join(silent)}"
            )
        time.sleep(0.5)


def join_cluster(task: Task, tf: Any) -> None:
    """Start this task's server, and do this task's part."""
    timeout = world.read_timeout(os.environ)
    deadline = time.monotonic() + timeout
    one = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
    server = tf.distribute.Server(
        tf.train.ClusterSpec(task.cluster), job_name=task.kind, task_index=task.index, config=one
    )
    world.say(f"{task.name} serves at {task.cluster[task.kind][task.index]}")
    if task.kind == "ps":
        server.join()
    wait_for_tasks(task, deadline)
    timer = world.fail_after(
        timeout, f"{task.name} on {world.own_name(os.environ)}: every task answers, but the cluster does not compute"
    )
    if task.coordinates:
        found, expected_sum = _compute(task, tf, server, one)
        if found != expected_sum:
            raise world.ProbeError(f"{task.name}: the sum over all tasks is {found}, not {expected_sum}")
        counts = ", ".join(f"{len(addresses)} {kind}" for kind, addresses in task.cluster.items())
        world.say(f"cluster formed: {counts}: sum {found} = {expected_sum}")
    else:
        _wait_for_end(task, tf, server, one)
        world.say(f"{task.name} was reached by the coordinator")
        time.sleep(LINGER)
    timer.cancel()


def _compute(task: Task, tf: Any, server: Any, config: Any) -> tuple[int, int]:
    """Add a number of each task on its own device, let the workers end, and return the found and expected sum."""
    tasks = task.tasks()
    with tf.Graph().as_default():
        numbers, found_all, may_end = [], [], []
        for position, (kind, index, _) in enumerate(tasks):
            with tf.device(f"/job:{kind}/task:{index}/device:CPU:0"):
                # a random number times zero: a constant would be folded on the coordinator, and no other task asked
                zero = tf.cast(tf.random.uniform([], dtype=tf.float32), tf.int32) * 0
                numbers.append(zero + position)
            if kind != "ps" and (kind, index) != (task.kind, task.index):
                found_all.append(_word(tf, kind, index, FOUND_ALL).dequeue())
                may_end.append(_word(tf, kind, index, MAY_END).enqueue(True))
        total = tf.add_n(numbers)
        with tf.compat.v1.Session(server.target, config=config) as session:
            found = int(session.run(total))
            session.run(found_all)
            for word in may_end:
                # a worker may end on the word before it has confirmed it
                with contextlib.suppress(tf.errors.UnavailableError):
                    session.run(word)
    return found, sum(range(len(tasks)))


def _wait_for_end(task: Task, tf: Any, server: Any, config: Any) -> None:
    """Report to the coordinator that this task has found every other one, and wait for its answer. The session watches
    this task alone, because the coordinator may have ended when the session closes."""
    alone = tf.compat.v1.ConfigProto(device_filters=[f"/job:{task.kind}/task:{task.index}"])
    alone.MergeFrom(config)
    with tf.Graph().as_default():
        found_all = _word(tf, task.kind, task.index, FOUND_ALL).enqueue(True)
        may_end = _word(tf, task.kind, task.index, MAY_END).dequeue()
        with tf.compat.v1.Session(server.target, config=alone) as session:
            session.run(found_all)
            session.run(may_end)


def _word(tf: Any, kind: str, index: int, name: str) -> Any:
    """Return a queue on a worker's own device, the same from every session."""
    with tf.device(f"/job:{kind}/task:{index}/device:CPU:0"):
        return tf.queue.FIFOQueue(1, [tf.bool], shapes=[()], shared_name=f"trainform_{name}_{kind}_{index}")


def main() -> None:
    """Check this task, then join the cluster."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # seconds of searching for what a rehearsal does not have
    task = read_task(os.environ)
    if task is None:
        world.say(f"single replica on {world.own_name(os.environ)}: no TF_CONFIG, as the plan says")
        return
    if task.kind == EVALUATOR:
        size = len(task.tasks())
        world.say(f"{task.name} is outside of the cluster of {size} task{'' if size == 1 else 's'}")
        return
    join_cluster(task, import_module("tensorflow"))


if __name__ == "__main__":
    world.run(main)
    os._exit(0)  # a server of TensorFlow has no end of its own
