"""Takes the place of a PyTorch training script: checks rank and world size, forms the world with gloo, and all-reduces.

`python probe_torch.py --with torch|accelerate|deepspeed`. Exit code 0, or 1 and one line that says which variable or
host is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import socket
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trainform.local.rehearsal.probes import probe_world as world

    AllReduce = Callable[[Any], Any]
else:  # inside the container both files stand in one folder, which is not a package
    import probe_world as world

GRACE = 15.0  # seconds that the others wait longer than rank 0, so that its word comes first
LINGER = 30.0  # seconds that a process stays at most for those that still read rank 0's word


def read_member(environ: Mapping[str, str], expected: world.Expected) -> world.Member:
    """Return this process as the launcher's variables describe it."""
    rank, size = world.number(environ, "RANK"), world.number(environ, "WORLD_SIZE")
    if not 0 <= rank < size:
        raise world.ProbeError(f"RANK is {rank} on {expected.name}, outside of WORLD_SIZE {size}")
    return world.Member(expected.name, rank, size)


class RollCall:
    """Every process signs in at the store of rank 0, or of its agent, before a collective can block. Rank 0 judges the
    world, and all processes get the result. torch.distributed itself only reports a time-out."""

    def __init__(self, store: Any, member: world.Member, expected: world.Expected) -> None:
        self.store, self.member, self.expected = store, member, expected

    def run(self, deadline: float) -> None:
        """Wait for all processes; ProbeError with the world's problem in each. deadline: of `time.monotonic`."""
        self._sign_in()
        if self.member.rank == 0:
            self.store.set("verdict", json.dumps(self._judge(deadline)))
        verdict = self._hear(deadline + GRACE)
        self.store.add("heard", 1)
        if verdict is not None:
            # the first rank that fails makes its launcher end the others on its node, perhaps rank 0
            with contextlib.suppress(RuntimeError):  # the store is gone, and with it every rank to wait for
                self.let_all_come("heard", self.store.add("joined", 0))
            raise world.ProbeError(verdict)

    def members(self) -> list[world.Member]:
        """Return the processes that have signed in so far, in order of arrival."""
        places = range(1, self.store.add("joined", 0) + 1)
        return [world.Member(**json.loads(self.store.get(f"member/{place}"))) for place in places]

    def _sign_in(self) -> None:
        place = self.store.add("joined", 1)
        self.store.set(f"member/{place}", json.dumps(vars(self.member)))

    def _judge(self, deadline: float) -> str | None:
        """Return the problem of the world; None if there is none. It waits for all processes, also after a problem: a
        late one would find no store, and report that instead."""
        size = self.member.world
        awaited = size if self.expected.processes is None else min(size, self.expected.processes)
        while self.store.add("joined", 0) < awaited and time.monotonic() < deadline:
            time.sleep(0.05)
        members = self.members()
        clashes = world.rank_clashes(members, "RANK")
        if clashes:
            return world.one_line(clashes)
        if len(members) < awaited:
            missing = world.missing_ranks([member.rank for member in members], awaited, self.expected)
            wrong = sorted({member.world for member in members} - {self.expected.processes})
            if self.expected.processes is not None and wrong:
                missing += f"; WORLD_SIZE is {wrong[0]}, the plan says {self.expected.processes}"
            return f"the world did not form within {self.expected.timeout:g} s: {missing}"
        return world.one_line(world.world_problems(members, self.expected, "WORLD_SIZE"))

    def _hear(self, deadline: float) -> str | None:
        try:
            self.store.wait(["verdict"], datetime.timedelta(seconds=max(1.0, deadline - time.monotonic())))
        except RuntimeError:
            return (
                f"the world did not form within {self.expected.timeout:g} s: rank {self.member.rank} on "
                f"{self.member.host} reached {_master()}, but no rank 0 came there"
            )
        verdict: str | None = json.loads(self.store.get("verdict"))
        return verdict

    def let_all_come(self, where: str, count: int) -> None:
        """End after the other processes, because the store may be in this process or in one that ends with it."""
        end = time.monotonic() + LINGER
        while self.store.add(where, 0) < count and time.monotonic() < end:
            time.sleep(0.05)


def open_store(member: world.Member, expected: world.Expected, deadline: float) -> Any:
    """Open the store at which processes sign in: rank 0's at MASTER_ADDR:MASTER_PORT, or torchrun's agent's."""
    dist = import_module("torch.distributed")

    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    serves = member.rank == 0 and not agent
    host, port = os.environ["MASTER_ADDR"], world.number(os.environ, "MASTER_PORT")
    reason = _not_ours(host, port, deadline) if serves else world.wait_for(host, port, deadline)
    planned = expected.host_of(member.rank)
    if reason is not None and planned is not None and world.short(planned) != member.host:
        reason += f"; the plan gives rank {member.rank} to {world.short(planned)}"
    if reason is not None:
        raise world.ProbeError(
            f"the world did not form within {expected.timeout:g} s: rank {member.rank} on {member.host} does not reach "
            f"{_master()}: {reason}"
        )
    left = datetime.timedelta(seconds=max(5.0, deadline - time.monotonic()) + GRACE)
    # multi_tenant: the framework opens the same port again in this process; both then share one server
    # PyTorch reads this variable where it opens a store itself; builds of distributions have no libuv
    options = {"use_libuv": False} if os.environ.get("USE_LIBUV") == "0" else {}
    store = dist.TCPStore(host, port, None, serves, left, wait_for_workers=False, multi_tenant=True, **options)
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"trainform/probe/{attempt}", store)


def _not_ours(host: str, port: int, deadline: float) -> str | None:
    """Return the reason why rank 0 cannot serve at its address; None if it can."""
    address, reason = world.resolve(host)
    while address is None and time.monotonic() < deadline:
        time.sleep(0.5)
        address, reason = world.resolve(host)
    if address is None:
        return reason
    for number in (0, port):
        try:
            with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                trial.bind((address, number))
        except OSError:
            return (
                f"{host} is {address}, which is not this pod"
                if number == 0
                else f"another program has the port on {address}"
            )
    return None


def _master() -> str:
    return f"MASTER_ADDR:MASTER_PORT {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"


def _torch(member: world.Member, seconds: float) -> AllReduce:
    dist = import_module("torch.distributed")

    dist.init_process_group("gloo", init_method="env://", timeout=datetime.timedelta(seconds=seconds))
    return _reduced(dist.all_reduce)


def _deepspeed(member: world.Member, seconds: float) -> AllReduce:
    deepspeed = import_module("deepspeed")

    # otherwise it would look for MPI where a variable is missing, and tell of mpi4py
    deepspeed.init_distributed(
        dist_backend="gloo", auto_mpi_discovery=False, timeout=datetime.timedelta(seconds=seconds), verbose=False
    )
    return _reduced(deepspeed.comm.all_reduce)


def _accelerate(member: world.Member, seconds: float) -> AllReduce:
    accelerate = import_module("accelerate")
    # without accelerators it would take MPI where PyTorch was built with it, and ignore ranks and addresses
    gloo = accelerate.InitProcessGroupKwargs(backend="gloo", timeout=datetime.timedelta(seconds=seconds))
    accelerator = accelerate.Accelerator(cpu=True, kwargs_handlers=[gloo])
    seen = (accelerator.process_index, accelerator.num_processes)
    if seen != (member.rank, member.world):
        raise world.ProbeError(
            f"accelerate is process {seen[0]} of {seen[1]} on {member.host}, RANK is {member.rank} and WORLD_SIZE "
            f"{member.world}"
        )
    return lambda tensor: accelerator.reduce(tensor, "sum")


def _reduced(all_reduce: Callable[[Any], Any]) -> AllReduce:
    def reduce(tensor: Any) -> Any:
        all_reduce(tensor)
        return tensor

    return reduce


FRAMEWORKS: dict[str, Callable[[world.Member, float], AllReduce]] = {
    "torch": _torch, "accelerate": _accelerate, "deepspeed": _deepspeed,
}  # fmt: skip


def check_sum(member: world.Member, all_reduce: AllReduce) -> tuple[int, int]:
    """Return the sum of all ranks, found and expected. ProbeError if they differ, or if a rank counts wrongly."""
    torch = import_module("torch")

    # first the rank itself, then a place for each rank that only its process fills
    sent = torch.zeros(1 + member.world, dtype=torch.int64)
    sent[0] = member.rank
    sent[1 + member.rank] = 1
    total, *places = all_reduce(sent).tolist()
    expected = member.world * (member.world - 1) // 2
    absent: list[int] = [rank for rank, count in enumerate(places) if count != 1]
    if total != expected or absent:
        raise world.ProbeError(f"all-reduce gives {total} on {member.host}, not {expected}: wrong in rank {absent}")
    return total, expected


def main(framework: str) -> None:
    """Form the world in the way of this framework's users."""
    world.mark_start(os.environ)
    expected = world.read_expected(os.environ)
    member = read_member(os.environ, expected)
    for name in ("MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise world.ProbeError(f"{name} is not set on {expected.name}")
    import_module("torch.distributed")  # seconds on a busy machine, which are not those of the rendezvous
    late = (
        f"rank {member.rank} on {member.host}: {framework} did not form the world, though all have met at {_master()}"
    )
    timer = world.fail_after(2 * (expected.timeout + GRACE), late)
    deadline = time.monotonic() + expected.timeout
    store = open_store(member, expected, deadline)
    roll_call = RollCall(store, member, expected)
    roll_call.run(deadline)
    all_reduce = FRAMEWORKS[framework](member, expected.timeout)
    found, expected_sum = check_sum(member, all_reduce)
    world.say(f"rank {member.rank} of {member.world} on {member.host}: all-reduce {found} = {expected_sum}")
    if member.rank == 0:
        hosts = {each.host for each in roll_call.members()}
        world.say(f"world formed: {world.processes(member.world)} on {world.nodes(len(hosts))}")
    with contextlib.suppress(RuntimeError):  # the store is gone: rank 0 has waited for long enough
        store.add("done", 1)
    if member.rank == 0:
        roll_call.let_all_come("done", member.world)
    timer.cancel()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--with", dest="framework", choices=sorted(FRAMEWORKS), default="torch")
    return parser.parse_known_args()[0]  # deepspeed adds --local_rank


if __name__ == "__main__":
    world.run(lambda: main(_arguments().framework))
    os._exit(0)  # threads of gloo's would abort the process as it ends, and to end them may hang where a peer is gone
