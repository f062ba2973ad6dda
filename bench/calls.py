"""`python -m bench.calls render stacks/experiments/hello.yaml -e dev`: how much of the package a command runs.

Prints the files that the command enters and the calls in them, in its first run in a process. Imports are not counted,
that is the bodies of modules; functions and class bodies are, also of modules that the command imports while it runs.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections import Counter
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
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name != "<module>":
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
