"""Takes the place of a JAX program: checks the variables, lets all processes sign in at the coordinator's address and,
if the image has JAX, initializes it and all-reduces on CPUs.

Exit code 0, or 1 and one line that says which variable or host is wrong.
"""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import time
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainform.local.rehearsal.probes import probe_world as world
else:  # inside the container both files stand in one folder, which is not a package
    import probe_world as world

ID, COUNT, COORDINATOR = "JAX_PROCESS_ID", "JAX_NUM_PROCESSES", "JAX_COORDINATOR_ADDRESS"
ANSWER = 5.0  # seconds for one line of a process that has connected


def read_member(environ: Mapping[str, str], expected: world.Expected) -> world.Member:
    """Return this process as the variables describe it."""
    member = world.Member(expected.name, world.number(environ, ID), world.number(environ, COUNT))
    if not 0 <= member.rank < member.world:
        raise world.ProbeError(f"{ID} is {member.rank} on {member.host}, outside of {COUNT} {member.world}")
    return member


def read_coordinator(environ: Mapping[str, str]) -> tuple[str, int]:
    """Return host and port of the coordinator; ProbeError if the variable is not an address."""
    host, _, port = environ.get(COORDINATOR, "").rpartition(":")
    if not host or not port.isdigit():
        raise world.ProbeError(f"{COORDINATOR} is {environ.get(COORDINATOR, 'not set')}, and has to be HOST:PORT")
    return host, int(port)


def serve(port: int, member: world.Member, expected: world.Expected, deadline: float) -> str | None:
    """In process 0: wait until every other process has signed in, and send each the problem of the world, which is
    returned; None if there is none. deadline: of `time.monotonic`."""
    members, connected = [member], []
    awaited = member.world if expected.processes is None else min(member.world, expected.processes)
    with socket.create_server(("", port)) as server:
        while len(members) < awaited and time.monotonic() < deadline:
            server.settimeout(max(0.1, deadline - time.monotonic()))
            try:
                connection = server.accept()[0]
                connection.settimeout(ANSWER)
                line = connection.makefile("r", encoding="utf-8").readline()
            except OSError:
                continue
            if line:  # a port check sends nothing
                members.append(world.Member(**json.loads(line)))
                connected.append(connection)
        problem = judge(members, awaited, expected)
        for connection in connected:
            with connection:
                connection.sendall(json.dumps(problem).encode() + b"\n")
    return problem


def judge(members: list[world.Member], awaited: int, expected: world.Expected) -> str | None:
    """Return the problem of a world that has to have so many processes; None if there is none."""
    clashes = world.rank_clashes(members, ID)
    if clashes:
        return world.one_line(clashes)
    if len(members) < awaited:
        missing = world.missing_ranks([member.rank for member in members], awaited, expected)
        return f"the world did not form within {expected.timeout:g} s: {missing}"
    return world.one_line(world.world_problems(members, expected, COUNT))


def sign_in(host: str, port: int, member: world.Member, expected: world.Expected, deadline: float) -> str | None:
    """In the other processes: sign in at process 0, and return the problem that it sends; None if there is none."""
    reason = world.wait_for(host, port, deadline)
    if reason is None:
        with socket.create_connection((host, port), timeout=expected.timeout) as connection:
            connection.sendall(json.dumps(vars(member)).encode() + b"\n")
            problem: str | None = json.loads(connection.makefile("r", encoding="utf-8").readline() or "null")
            return problem
    return (
        f"the world did not form within {expected.timeout:g} s: process {member.rank} on {member.host} does not reach "
        f"{COORDINATOR} {host}:{port}: {reason}"
    )


def all_reduce(member: world.Member, seconds: float) -> None:
    """Initialize JAX as its users do, and add up the ranks of all processes. ProbeError if the sum is wrong."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    jax, numpy = import_module("jax"), import_module("numpy")
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(num_processes=member.world, process_id=member.rank, initialization_timeout=int(seconds))
    gathered = import_module("jax.experimental.multihost_utils").process_allgather(numpy.array([member.rank]))
    found, expected = int(gathered.sum()), member.world * (member.world - 1) // 2
    if (jax.process_count(), found) != (member.world, expected):
        raise world.ProbeError(
            f"all-reduce gives {found} over {world.processes(jax.process_count())} on {member.host}, not {expected} "
            f"over {member.world}"
        )
    world.say(f"rank {member.rank} of {member.world} on {member.host}: all-reduce {found} = {expected}")
    jax.distributed.shutdown()


def main() -> None:
    """Check this process, form the world, and compute in it."""
    expected = world.read_expected(os.environ)
    member = read_member(os.environ, expected)
    host, port = read_coordinator(os.environ)
    late = f"process {member.rank} on {member.host}: JAX did not form the world, though all have met at {host}:{port}"
    timer = world.fail_after(2 * expected.timeout, late)
    deadline = time.monotonic() + expected.timeout
    first = member.rank == 0
    problem = serve(port, member, expected, deadline) if first else sign_in(host, port, member, expected, deadline)
    if problem is not None:
        raise world.ProbeError(problem)
    if importlib.util.find_spec("jax") is None:
        world.say(f"rank {member.rank} of {member.world} on {member.host}: the image has no JAX to compute with")
    else:
        all_reduce(member, expected.timeout)
    if first:
        world.say(f"world formed: {world.processes(member.world)} on {world.nodes(member.world)}")
    timer.cancel()


if __name__ == "__main__":
    world.run(main)
