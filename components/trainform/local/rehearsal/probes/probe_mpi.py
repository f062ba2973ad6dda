"""Takes the place of a program under `mpirun` (Open MPI 4 and 5): checks rank and world size, and gathers.

The MPI library is called without mpi4py, which images of C programs lack. Exit code 0, or 1 and one line that says
which variable or host is wrong.
"""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainform.local.rehearsal.probes import probe_world as world
else:  # inside the container both files stand in one folder, which is not a package
    import probe_world as world

RANK, SIZE = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
LONGEST_MEMBER = 512  # bytes of a process' own words in the gathering


def read_member(environ: Mapping[str, str], expected: world.Expected) -> world.Member:
    """Return this process as Open MPI's variables describe it."""
    if RANK not in environ:
        raise world.ProbeError(
            f"{RANK} is not set on {expected.name}: this process was not started by Open MPI's mpirun"
        )
    return world.Member(expected.name, world.number(environ, RANK), world.number(environ, SIZE))


class OpenMpi:
    """The calls that a probe needs. MPI_COMM_WORLD and the like are addresses of objects in Open MPI's library."""

    def __init__(self) -> None:
        self.library = _library()
        self.world = self._handle("ompi_mpi_comm_world")
        self._check("MPI_Init", self.library.MPI_Init(None, None))

    def gather(self, words: bytes, size: int) -> list[bytes]:
        """Return the texts of all processes, in every process."""
        sent = ctypes.create_string_buffer(words, LONGEST_MEMBER)
        received = ctypes.create_string_buffer(LONGEST_MEMBER * size)
        byte = self._handle("ompi_mpi_byte")
        code = self.library.MPI_Allgather(sent, LONGEST_MEMBER, byte, received, LONGEST_MEMBER, byte, self.world)
        self._check("MPI_Allgather", code)
        return [received.raw[at : at + LONGEST_MEMBER].rstrip(b"\0") for at in range(0, len(received), LONGEST_MEMBER)]

    def finish(self) -> None:
        """Finish MPI. mpirun counts a process that ends without this call as failed."""
        self._check("MPI_Finalize", self.library.MPI_Finalize())

    def _handle(self, name: str) -> ctypes.c_void_p:
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(self.library, name)))

    def _check(self, name: str, code: int) -> None:
        if code != 0:
            raise world.ProbeError(f"{name} fails with code {code} on {world.own_name(os.environ)}")


def _library() -> ctypes.CDLL:
    """Return the libmpi of the mpirun that started this process. Several in an image cannot talk to each other."""
    tried = []
    for place in (*_launcher_libraries(), "libmpi.so.40", "libmpi.so"):
        try:
            return ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)  # its plug-ins look for its symbols
        except OSError as error:
            tried.append(str(error))
    raise world.ProbeError(f"no library of Open MPI on {world.own_name(os.environ)}: {'; '.join(tried)}")


def _launcher_libraries() -> list[str]:
    """Return the possible paths of libmpi, from the parent of this process: mpirun, or its daemon on another node."""
    try:
        prefix = Path(f"/proc/{os.getppid()}/exe").resolve().parent.parent
    except OSError:
        return []
    found = [prefix / folder / "libmpi.so.40" for folder in ("lib", "lib64")]
    return [str(path) for path in found if path.exists()]


def main() -> None:
    """Check the variables of mpirun, then form the world."""
    expected = world.read_expected(os.environ)
    member = read_member(os.environ, expected)
    late = (
        f"the world did not form within {expected.timeout:g} s: rank {member.rank} of {member.world} on "
        f"{member.host} hangs in MPI; its nodes do not reach each other, or a process has ended"
    )
    timer = world.fail_after(expected.timeout, late)
    mpi = OpenMpi()
    words = mpi.gather(json.dumps(vars(member)).encode(), member.world)
    members = [world.Member(**json.loads(each)) for each in words]
    problem = world.one_line(world.world_problems(members, expected, SIZE))
    if problem is None:
        world.say(f"rank {member.rank} of {member.world} on {member.host}")
        if member.rank == 0:
            hosts = {each.host for each in members}
            world.say(f"world formed: {world.processes(member.world)} on {world.nodes(len(hosts))}")
    mpi.finish()
    timer.cancel()
    if problem is not None:
        raise world.ProbeError(problem)


if __name__ == "__main__":
    world.run(main)
