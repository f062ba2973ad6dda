"""Check once, in a fresh process after the imports: `python -m bench.probe_check EXPERIMENT ENVIRONMENT` prints seconds
of the processor."""

from __future__ import annotations

import sys
import time

from trainform.errors import InputError
from trainform.job.check import check_experiment


def main(experiment: str, environment: str) -> float:
    """Check two files as `trainform check` does, up to the plan or the message with every problem; return the seconds.

    Seconds of the processor: they follow the work, whatever else the machine does.
    """
    begin = time.process_time()
    checked = check_experiment(experiment, environment)
    if checked.problems:
        str(InputError(checked.problems))
    return time.process_time() - begin


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
