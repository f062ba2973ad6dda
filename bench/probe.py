"""Plan and render once, in a fresh process after the imports: `python -m bench.probe EXPERIMENT ENVIRONMENT` prints
seconds as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from trainform.job.check import check_experiment
from trainform.manifests.manifest import to_yaml
from trainform.plan.export import as_data

Result = TypeVar("Result")


def main(experiment: str, environment: str) -> dict[str, float]:
    """Everything from the two files on, as the verbs do it; nothing is warm but the imports."""
    job, checking = _time(lambda: check_experiment(experiment, environment).or_raise())
    _, rendering = _time(lambda: to_yaml(job.manifests))
    _, printing = _time(lambda: json.dumps(as_data(job.plan), indent=2))
    return {"plan": checking, "render": rendering, "json": printing}


def _time(work: Callable[[], Result]) -> tuple[Result, float]:
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
