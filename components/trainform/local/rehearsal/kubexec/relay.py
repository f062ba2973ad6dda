"""Runs in the pod that calls kubectl, instead of the init container that brings it, and passes requests on to the
rehearsal.

This file alone is the program (`python3 -c`): it needs the standard library of any Python 3 and nothing of trainform.
Its arguments are the path of kubectl, that of the hostfile, and the text of the stand-in. Both ways, a line of JSON is
a message. From standard input: answers, with the number of the request in `to`. To standard output: first the hosts of
the hostfile, then requests, numbered in `from`. It ends with its standard input.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from pathlib import Path

SOCKET = "exec.sock"
LONGEST_LINE = 1 << 20
STUB = '#!/bin/sh\nexec python3 -IS "{program}" "{socket}" "$@"\n'


def _say(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _deliver(kubectl: Path, text: str, path: Path) -> None:
    """Write the stand-in. It ignores the caller's variables, which may be meant for another Python."""
    program = kubectl.with_name(kubectl.name + ".py")
    program.write_text(text, encoding="utf-8")
    kubectl.write_text(STUB.format(program=program, socket=path), encoding="utf-8")
    kubectl.chmod(0o755)


async def _main(kubectl: Path, hostfile: Path, text: str) -> None:
    callers: dict[int, asyncio.StreamWriter] = {}
    numbers = itertools.count()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readline()
        if not line.endswith(b"\n"):
            writer.close()
            return
        number = next(numbers)
        callers[number] = writer
        _say({**json.loads(line), "from": number})

    path = kubectl.with_name(SOCKET)
    _deliver(kubectl, text, path)
    if path.exists():
        path.unlink()
    await asyncio.start_unix_server(meet, str(path), limit=LONGEST_LINE)
    path.chmod(0o666)  # the pod's containers may run as different users
    lines = [line.split() for line in hostfile.read_text(encoding="utf-8").splitlines()]
    _say({"hosts": [words[0] for words in lines if words]})
    answers = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answers), sys.stdin)
    while True:
        line = await answers.readline()
        if not line:
            return
        answer = json.loads(line)
        caller = callers[answer["to"]]
        if not caller.is_closing():  # else who asked has gone
            caller.write(line)
        if "exit" in answer:
            callers.pop(answer["to"]).close()


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
