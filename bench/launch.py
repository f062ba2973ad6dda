"""Runs one command and writes its exit code, seconds and peak memory: `python -I -S launch.py DESCRIPTOR COMMAND …`.

A small process of its own, because Linux starts the peak of a new process at the memory of the one that made it: what
the benchmark itself has loaded would count as the command's.
"""

import os
import sys
import time


def main() -> None:
    """Write the three numbers to the open file with this descriptor."""
    descriptor, *command = sys.argv[1:]
    os.set_inheritable(int(descriptor), False)
    begin = time.perf_counter()
    process = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - begin
    os.write(int(descriptor), f"{os.waitstatus_to_exitcode(status)} {seconds} {usage.ru_maxrss}".encode())


if __name__ == "__main__":
    main()
