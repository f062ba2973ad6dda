"""A labelled set of 25 failures: pods as the API server has them, who failed first, why, and whose fault it is.

Messages are those of `run.sh`, and of the kubelet where no script runs. Codes, reasons and conditions are those of
Kubernetes 1.34 and containerd.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tests.running.jobs import container, of_role
from trainform.running.model import Cause, Fault

STEP = '  File "/app/train.py", line 212, in main\n    loss = model(batch)\n'
NCCL = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3356, remote process exited or there was "
    "a network error"
)
WATCHDOG = (
    "[rank5]:[E1127 watchdog] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=812, OpType=ALLREDUCE, "
    "Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\nterminate called after throwing an instance "
    "of 'c10::DistBackendError'"
)


class Labelled(Struct, frozen=True):
    """A failure with its labels. first: the indices of the pods that failed first."""

    name: str
    pods: list[dict[str, Any]]
    first: tuple[int, ...]
    cause: Cause
    fault: Fault
    cascade: int = 0
    signal: str | None = None


def raised(error: str, rank: int | None = None) -> str:
    """Return the message of a process that raises; rank: torchrun's report of it is there too."""
    root = "" if rank is None else f"torchrun: rank {rank} (local_rank: {rank % 8}), exitcode 1 (pid: 72)\n"
    return f"{root}Traceback (most recent call last):\n{STEP}{error}\n"


def at(second: int) -> str:
    """Return a time of the last attempt."""
    return f"2026-11-22T10:{second // 60:02}:{second % 60:02}Z"


def terminated(code: int, second: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    """Return the state of a container that has ended."""
    said = {"message": message} if message else {}
    return {"exitCode": code, "reason": reason, "startedAt": at(0), "finishedAt": at(second), **said}


def failed(
    index: int, code: int, second: int, message: str = "", reason: str = "Error", **status: Any
) -> dict[str, Any]:
    """Return a failed pod."""
    statuses = [container(terminated=terminated(code, second, message, reason))]
    return of_role("worker", index, "Failed", f"node-{index}", containerStatuses=statuses, **status)


def disrupted(index: int, reason: str, second: int, phase: str = "Failed", **status: Any) -> dict[str, Any]:
    """Return a pod that was disrupted."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": at(second)}
    return of_role("worker", index, phase, f"node-{index}", conditions=[condition], **status)


def others(count: int, second: int, code: int = 1, message: str = "") -> list[dict[str, Any]]:
    """Return pods that end after another one."""
    said = message or raised(NCCL)
    return [failed(10 + number, code, second + number, said) for number in range(count)]


def stopped(count: int, second: int) -> list[dict[str, Any]]:
    """Return pods that their operator has ended."""
    return others(count, second, 143, "torch.distributed.elastic: got signal: 15, shutting down\n")


LOSS = raised("ValueError: loss is nan at step 1200", 3)
UNFINISHED = [container(terminated=terminated(137, 300, reason="ContainerStatusUnknown"))]
NO_DISK = raised("OSError: [Errno 28] No space left on device: '/mnt/output/step-900.pt'")
ECC = raised("RuntimeError: CUDA error: uncorrectable ECC error encountered")
CUDA_OOM = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has 79.15 GiB", 11)
MODULE = raised("ModuleNotFoundError: No module named 'flash_attn'")
NO_FILE = "python: can't open file '/app/trian.py': [Errno 2] No such file or directory\n"
SHM = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"
PEERS = "trainform: 1 of 4 hosts did not answer within 600 s:\n  bert-worker-3: its name is not in DNS\n"
TERM = raised("torch.distributed.elastic.multiprocessing.api.SignalException: Process 30 got signal: 15")
REFUSED = raised(
    "torch.distributed.DistNetworkError: The client socket has timed out after 60s while trying to connect"
)
KILLED = "torchrun: rank 9 (local_rank: 1), exitcode -9 (pid: 74)\nE1127 failed (exitcode: -9) local_rank: 1\n" + NCCL
SEGFAULT = "torchrun: rank 2 (local_rank: 2), exitcode -11 (pid: 75)\nSignal 11 (SIGSEGV) received by PID 75\n"
EVICTED = "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 8Gi."
DEADLINE = "Pod was active on the node longer than the specified deadline"
NOT_EXEC = 'failed to create containerd task: exec: "trian": executable file not found in $PATH'
QUOTA = "wandb: run finished\n3 of 4 evaluations below the threshold\n"

FAILURES = [
    Labelled(
        "a rank raises, and the others lose it",
        [*others(3, 70), failed(3, 1, 60, LOSS)],
        (3,),
        Cause.EXCEPTION,
        Fault.WORKLOAD,
        3,
    ),
    Labelled(
        "two ranks raise at once",
        [failed(5, 1, 61, LOSS), failed(3, 1, 60, LOSS), *stopped(2, 75)],
        (3, 5),
        Cause.EXCEPTION,
        Fault.WORKLOAD,
        2,
    ),
    Labelled(
        "the others end earlier than the cause",
        [*others(3, 40), failed(1, 1, 45, LOSS)],
        (1,),
        Cause.EXCEPTION,
        Fault.WORKLOAD,
        3,
    ),
    Labelled(
        "the kernel kills a container over its memory",
        [failed(2, 137, 90, reason="OOMKilled"), *others(3, 700)],
        (2,),
        Cause.OOM,
        Fault.WORKLOAD,
        3,
        "SIGKILL",
    ),
    Labelled("the memory of a GPU", [failed(1, 1, 90, CUDA_OOM), *others(1, 95)], (1,), Cause.OOM, Fault.WORKLOAD, 1),
    Labelled(
        "a process is killed below torchrun",
        [failed(1, 1, 90, KILLED), *others(2, 95)],
        (1,),
        Cause.SIGNAL,
        Fault.PLATFORM,
        2,
        "SIGKILL",
    ),
    Labelled(
        "a segmentation fault",
        [failed(0, 1, 90, SEGFAULT), *stopped(2, 99)],
        (0,),
        Cause.SIGNAL,
        Fault.WORKLOAD,
        2,
        "SIGSEGV",
    ),
    Labelled("a bus error", [failed(0, 135, 90, SHM)], (0,), Cause.SIGNAL, Fault.WORKLOAD, 0, "SIGBUS"),
    Labelled("a GPU with a fault", [failed(6, 1, 90, ECC), *others(3, 91)], (6,), Cause.EXCEPTION, Fault.PLATFORM, 3),
    Labelled(
        "a full disk",
        [failed(0, 1, 90, NO_DISK), *others(1, 690, 134, WATCHDOG)],
        (0,),
        Cause.EXCEPTION,
        Fault.PLATFORM,
        1,
    ),
    Labelled(
        "a collective that hangs",
        [failed(5, 134, 700, WATCHDOG), *stopped(3, 702)],
        (5,),
        Cause.COMMUNICATION,
        Fault.PLATFORM,
        3,
        "SIGABRT",
    ),
    Labelled(
        "the rendezvous is not reached",
        [failed(2, 1, 60, REFUSED), *stopped(1, 61)],
        (2,),
        Cause.COMMUNICATION,
        Fault.PLATFORM,
        1,
    ),
    Labelled(
        "a peer that never came",
        [failed(0, 1, 600, PEERS), of_role("worker", 1, "Pending", None)],
        (0,),
        Cause.COMMUNICATION,
        Fault.PLATFORM,
    ),
    Labelled(
        "a module that the image lacks",
        [failed(0, 1, 4, MODULE), failed(1, 1, 5, MODULE)],
        (0, 1),
        Cause.EXCEPTION,
        Fault.WORKLOAD,
    ),
    Labelled("a misspelled script", [failed(0, 2, 3, NO_FILE)], (0,), Cause.NOT_STARTED, Fault.USER),
    Labelled(
        "a misspelled program",
        [failed(0, 127, 1, "env: 'trian': No such file or directory\n")],
        (0,),
        Cause.NOT_STARTED,
        Fault.USER,
    ),
    Labelled(
        "a container that cannot start",
        [failed(0, 128, 1, NOT_EXEC, "StartError")],
        (0,),
        Cause.NOT_STARTED,
        Fault.USER,
    ),
    Labelled(
        "a program that ends with its own code",
        [failed(0, 42, 900, QUOTA), *stopped(3, 905)],
        (0,),
        Cause.EXIT,
        Fault.WORKLOAD,
        3,
    ),
    Labelled(
        "an eviction",
        [
            of_role(
                "worker",
                4,
                "Failed",
                reason="Evicted",
                message=EVICTED,
                containerStatuses=[container(terminated=terminated(137, 300))],
            ),
            *others(3, 310),
        ],
        (4,),
        Cause.EVICTED,
        Fault.PLATFORM,
        3,
        "SIGKILL",
    ),
    Labelled(
        "a drained node",
        [
            disrupted(
                1, "EvictionByEvictionAPI", 295, containerStatuses=[container(terminated=terminated(143, 300, TERM))]
            ),
            *others(3, 301),
        ],
        (1,),
        Cause.EVICTED,
        Fault.PLATFORM,
        3,
        "SIGTERM",
    ),
    Labelled(
        "a preemption",
        [
            disrupted(
                1, "PreemptionByScheduler", 290, containerStatuses=[container(terminated=terminated(143, 300, TERM))]
            ),
            *others(1, 301),
        ],
        (1,),
        Cause.EVICTED,
        Fault.QUEUE,
        1,
        "SIGTERM",
    ),
    Labelled(
        "a node that is gone",
        [disrupted(3, "DeletionByTaintManager", 600, "Running"), *others(3, 320)],
        (3,),
        Cause.NODE_LOST,
        Fault.PLATFORM,
        3,
    ),
    Labelled(
        "a node that came back without the container",
        [of_role("worker", 3, "Failed", containerStatuses=UNFINISHED), *others(1, 320)],
        (3,),
        Cause.NODE_LOST,
        Fault.PLATFORM,
        1,
        "SIGKILL",
    ),
    Labelled(
        "the longest time of a run",
        [
            of_role(
                "worker",
                0,
                "Failed",
                reason="DeadlineExceeded",
                message=DEADLINE,
                containerStatuses=[container(terminated=terminated(143, 3000))],
            )
        ],
        (0,),
        Cause.DEADLINE,
        Fault.USER,
        0,
        "SIGTERM",
    ),
    Labelled(
        "a restart in place",
        [
            of_role(
                "worker", 0, containerStatuses=[container(1, last={"terminated": terminated(1, 60, LOSS)}, running={})]
            ),
            of_role(
                "worker",
                1,
                containerStatuses=[container(1, last={"terminated": terminated(1, 64, raised(NCCL))}, running={})],
            ),
        ],
        (0,),
        Cause.EXCEPTION,
        Fault.WORKLOAD,
        1,
    ),
]
