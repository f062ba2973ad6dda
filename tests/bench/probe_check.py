"""Check once, in a fresh process after the imports: `python -m tests.bench.probe_check EXPERIMENT ENVIRONMENT` prints seconds of the processor."""

from __future__ import annotations

import sys
import time

from trainform.errors import InputError
from trainform.examine import examine


def main(experiment: str, environment: str) -> float:
    """From the two files to the plan, or to the message with every problem, as `trainform check` does it.

    Seconds of the processor: they follow the work, whatever else the machine does.
    """
    begin = time.process_time()
    examined = examine(experiment, environment)
    if examined.problems:
        str(InputError(examined.problems))
    else:
        examined.plan()
    return time.process_time() - begin


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
