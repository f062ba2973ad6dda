"""Runs in each pod of a job whose pods call `kubectl exec`, and starts the commands of `client`.

This file alone is the program (`python3 -c`): it needs the standard library of any Python 3 and nothing of trainform.
Its argument is the path of its socket. A request is a command as JSON, with the caller's output streams as file
descriptors. The answer is the exit code.
"""

from __future__ import annotations

import array
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

LONGEST_COMMAND = 1 << 18
NOT_STARTED = 126


def main(path: Path) -> None:
    """Answer requests until the container ends."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()  # of the container before a restart
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    path.chmod(0o666)  # pods may run as different users
    listener.listen(128)
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def answer(caller: socket.socket) -> None:
    """Run one command, and send its exit code back."""
    streams = array.array("i")
    with caller:
        message, attached, _, _ = caller.recvmsg(LONGEST_COMMAND, socket.CMSG_SPACE(2 * streams.itemsize))
        streams.frombytes(attached[0][2])
        out, err = streams
        try:
            ran = subprocess.run(json.loads(message), stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False)
            code = ran.returncode if ran.returncode >= 0 else 128 - ran.returncode
        except OSError as error:
            os.write(err, f"error: {error}\n".encode())
            code = NOT_STARTED
        finally:
            os.close(out)
            os.close(err)
        with contextlib.suppress(OSError):  # the caller has ended
            caller.sendall(str(code).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
