"""`python -m bench.calls render stacks/experiments/hello.yaml -e dev`: how much of the package a command runs.

Prints the files whose functions the command calls and the calls, in its first run in a process. Imports, that is the
bodies of modules and classes, are not counted.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType

import trainform
from trainform.cli.main import main as run

PACKAGE = str(Path(trainform.__file__).parent)


def count_calls(words: list[str]) -> Counter[CodeType]:
    """Run a command in this process, without its output, and return the calls of each code object of the package."""
    counted: Counter[CodeType] = Counter()

    def profile(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_flags & CO_OPTIMIZED:
            counted[code] += 1

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.setprofile(profile)
        try:
            run(words)
        finally:
            sys.setprofile(None)
    return counted


def main() -> None:
    """Print the numbers of the command in the arguments."""
    counted = count_calls(sys.argv[1:])
    print(f"{len({code.co_filename for code in counted})} files, {counted.total():,} calls")


if __name__ == "__main__":
    main()
