"""The world that the plan expects, and the problems of the one that formed. The other probes import it.

The probes run in the user's image: Python 3.8 or later, its standard library and the launcher's framework.
"""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeVar

    Result = TypeVar("Result")

DEFAULT_TIMEOUT = 120.0  # seconds
MOST_PROBLEMS = 8
STARTED = "TRAINFORM_PROBE_STARTED"


class ProbeError(Exception):
    """A problem, in one line."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """The world that the plan expects.

    name: this pod. hosts: the addresses of the nodes, in order of rank where the plan decides the ranks (`ordered`).
    slots: the processes on each node, by pod. processes: the number over all nodes, None in an elastic job, whose
    bounds are in `nodes`. timeout: the seconds in which the world has to form.
    """

    name: str
    hosts: tuple[str, ...]
    slots: Mapping[str, int]
    processes: int | None
    nodes: tuple[int, int]
    ordered: bool
    timeout: float

    def host_of(self, rank: int) -> str | None:
        """Return the address of the node with this rank; None if the plan does not decide it."""
        first = 0
        for host in self.hosts if self.ordered else ():
            first += self.slots.get(short(host), 0)
            if rank < first:
                return host
        return None


@dataclasses.dataclass(frozen=True)
class Member:
    """One process, as it sees itself."""

    host: str
    rank: int
    world: int


def read_expected(environ: Mapping[str, str]) -> Expected:
    """Return the expectations in the variables of this pod; ProbeError if there are none."""
    if "TRAINFORM_EXPECT_SLOTS" not in environ:
        raise ProbeError(
            f"TRAINFORM_EXPECT_SLOTS is not set on {socket.gethostname()}: the launcher did not hand on the pod's "
            "variables"
        )
    slots: dict[str, int] = json.loads(environ["TRAINFORM_EXPECT_SLOTS"])
    elastic = "TRAINFORM_EXPECT_NODES_MIN" in environ
    low, high = (
        ("TRAINFORM_EXPECT_NODES_MIN", "TRAINFORM_EXPECT_NODES_MAX") if elastic else ("TRAINFORM_EXPECT_NODES",) * 2
    )
    return Expected(
        name=own_name(environ),
        hosts=tuple(json.loads(environ["TRAINFORM_EXPECT_HOSTS"])),
        slots=slots,
        processes=None if elastic else number(environ, "TRAINFORM_EXPECT_PROCESSES"),
        nodes=(number(environ, low), number(environ, high)),
        ordered=environ.get("TRAINFORM_EXPECT_ORDER") == "plan",
        timeout=read_timeout(environ),
    )


def own_name(environ: Mapping[str, str]) -> str:
    """Return the name of this pod in the plan. On the host network its hostname is the node's, and the name of a Job's
    pod ends with random letters."""
    name = environ.get("TRAINFORM_EXPECT_NAME", socket.gethostname())
    planned = json.loads(environ.get("TRAINFORM_EXPECT_SLOTS", "{}"))
    stem = name.rpartition("-")[0]
    return stem if stem in planned and name not in planned else name


def read_timeout(environ: Mapping[str, str]) -> float:
    """Return the seconds in which the world has to form."""
    return float(environ.get("TRAINFORM_PROBE_TIMEOUT", DEFAULT_TIMEOUT))


def number(environ: Mapping[str, str], name: str) -> int:
    """Return the value of a variable that has to be a whole number; ProbeError if it is none."""
    if name not in environ:
        raise ProbeError(f"{name} is not set")
    try:
        return int(environ[name])
    except ValueError:
        raise ProbeError(f"{name} is {environ[name]}, which is not a whole number") from None


def short(address: str) -> str:
    """Return the name of the pod in an address."""
    return address.split(".")[0]


def world_problems(members: Sequence[Member], expected: Expected, size_variable: str) -> list[str]:
    """Return the problems of a world whose processes have all signed in. A wrong size comes first, with the hosts that
    explain it. Problems that only follow from a wrong number of processes are left out."""
    counts: dict[str, int] = {}
    for member in members:
        counts[member.host] = counts.get(member.host, 0) + 1
    by_host = _count_problems(counts, expected)
    sizes = sorted({member.world for member in members})
    if expected.processes is not None and sizes != [expected.processes]:
        found = " and ".join(map(str, sizes))
        size = f"{size_variable} is {found}, the plan says {expected.processes}"
        return [f"{size}: {', '.join(by_host)}" if by_host else size]
    if by_host:
        return by_host
    return [*_node_problems(counts, expected), *_order_problems(members, expected)]


def rank_clashes(members: Sequence[Member], rank_variable: str) -> list[str]:
    """Return the ranks that more than one process has, with their hosts."""
    hosts: dict[int, list[str]] = {}
    for member in members:
        hosts.setdefault(member.rank, []).append(member.host)
    return [
        f"{rank_variable} is {rank} in {processes(len(found))}: on {' and on '.join(sorted(found))}"
        for rank, found in sorted(hosts.items())
        if len(found) > 1
    ]


def _count_problems(counts: Mapping[str, int], expected: Expected) -> list[str]:
    """Return the hosts with another number of processes than in the plan. In an elastic job, hosts may be missing."""
    problems = []
    for host in [*expected.slots, *sorted(counts.keys() - expected.slots.keys())]:
        found, planned = counts.get(host, 0), expected.slots.get(host)
        if planned is None:
            if expected.processes is not None:  # an elastic job may have grown since the plan
                problems.append(f"{host} runs {processes(found)}, the plan has no such host")
        elif found != planned and (found > 0 or expected.processes is not None):
            problems.append(f"{host} runs {processes(found)}, the plan says {planned}")
    return problems


def _node_problems(counts: Mapping[str, int], expected: Expected) -> list[str]:
    low, high = expected.nodes
    if low <= len(counts) <= high:
        return []
    return [f"the world has {nodes(len(counts))}, the plan says {low if low == high else f'{low} to {high}'}"]


def _order_problems(members: Sequence[Member], expected: Expected) -> list[str]:
    problems = []
    for member in sorted(members, key=lambda member: member.rank):
        host = expected.host_of(member.rank)
        if host is not None and short(host) != member.host:
            problems.append(f"rank {member.rank} is on {member.host}, the plan says {short(host)}")
    return problems


def one_line(problems: Sequence[str]) -> str | None:
    """Return the first few problems and the number of the others; None if there is no problem."""
    if not problems:
        return None
    more = len(problems) - MOST_PROBLEMS
    return "; ".join([*problems[:MOST_PROBLEMS], *([f"and {more} more"] if more > 0 else [])])


def missing_ranks(joined: Sequence[int], world: int, expected: Expected) -> str:
    """Return the processes that did not join, by rank, each with what this pod can see of its host."""
    words = []
    for rank in sorted(set(range(world)) - set(joined)):
        host = expected.host_of(rank)
        words.append(f"rank {rank}" if host is None else f"rank {rank} ({short(host)}: {why_absent(host)})")
    return f"missing: {', '.join(words)}"


def why_absent(host: str) -> str:
    """Return why a host did not join, seen from this pod: its name does not resolve, or it did not answer."""
    address, reason = resolve(host)
    return reason if address is None else f"{address} did not join"


def resolve(host: str) -> tuple[str | None, str]:
    """Return the address of a name, or None and the problem with the name."""
    try:
        return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0]), ""
    except OSError:
        return None, f"the name {host} does not resolve"


def why_silent(host: str, port: int) -> str | None:
    """Return the reason why nothing answers at an address; None if something does."""
    address, reason = resolve(host)
    if address is None:
        return reason
    try:
        socket.create_connection((address, port), timeout=3).close()
    except ConnectionRefusedError:
        return f"{host} is {address}, where nothing listens on port {port}"
    except OSError as error:
        return f"{host} is {address}, port {port} does not answer ({str(error).strip()})"
    return None


def wait_for(host: str, port: int, deadline: float) -> str | None:
    """Wait until something answers, and return None; the reason if nothing does before the (monotonic) deadline."""
    while True:
        reason = why_silent(host, port)
        if reason is None or time.monotonic() >= deadline:
            return reason
        time.sleep(0.5)


def say(text: str) -> None:
    """Print one line of the probe, in one piece, because all processes of a pod share its output."""
    sys.stdout.write(f"probe: {' '.join(text.split())}\n")
    sys.stdout.flush()


def fail(text: str) -> NoReturn:
    """Print the problem and end the process, also where other threads hang."""
    say(text)
    sys.stderr.flush()
    os._exit(1)


def run(main: Callable[[], Result]) -> Result:
    """Run a probe. Every error becomes one line, which says more than a framework's traceback."""
    try:
        return main()
    except ProbeError as error:
        fail(str(error))
    except Exception as error:
        first = [*str(error).strip().splitlines(), ""][0]
        fail(f"{type(error).__name__} on {own_name(os.environ)}: {first}")


def fail_after(seconds: float, text: str) -> threading.Timer:
    """End with this line unless the timer is cancelled, because calls into frameworks may block without a limit."""
    timer = threading.Timer(seconds, fail, (text,))
    timer.daemon = True
    timer.start()
    return timer


def mark_start(environ: Mapping[str, str]) -> None:
    """Report to `probe_watch`, where it runs, that the launcher has started this program."""
    if STARTED in environ:
        try:
            Path(environ[STARTED]).touch()
        except OSError:  # over SSH the process may belong to another user; it has a timeout of its own
            return


def processes(count: int) -> str:
    """Return a number of processes in words: `1 process`, `3 processes`, `no process`."""
    return "no process" if count == 0 else f"{count} process{'' if count == 1 else 'es'}"


def nodes(count: int) -> str:
    """Return a number of nodes in words: `1 node`, `3 nodes`."""
    return f"{count} node{'' if count == 1 else 's'}"
