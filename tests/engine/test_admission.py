"""Whatever `check` accepts, the real admission accepts; and what we rendered comes back as we said it.

The second half matters as much as the first: a field that the server rewrites would show as a change at every preview,
and on a Volcano Job every later update would be denied.
"""

from __future__ import annotations

import copy
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.corpus.test_corpus import CASES, REFERENCES, rendered
from tests.engine.admission import NAMESPACE, not_kept, offered
from tests.engine.live import Live
from tests.support.generators import experiments
from tests.support.obeying import obeyed, planned
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.spec.environment import Environment

pytestmark = pytest.mark.proof("generated experiments against every admission, on every add-on")

OTHERS = [name for name in BACKENDS if name != defaults.BACKEND]
LARGE = 100_000  # characters of annotations
LARGE_ONE_IN = 3  # examples: only these keep such annotations


@pytest.fixture(scope="module")
def environment(addons_live: Live) -> Iterator[Environment]:
    """Yield what the generated experiments need, on the cluster with every operator."""
    yield from offered(addons_live)


def without_large_notes(data: dict[str, Any]) -> dict[str, Any]:
    """Return the experiment less its annotations of 200 kB, which would cost the server a third of its time."""
    for part in (data, *data["roles"].values()):
        if sum(map(len, part.get("annotations", {}).values())) > LARGE:
            del part["annotations"]
    return data


def test_what_check_accepts_the_server_accepts_and_keeps(
    addons_live: Live, environment: Environment, examples: int
) -> None:
    """Each example goes to Volcano; another operator gets it too, less what that one cannot express."""
    accepted: Counter[str] = Counter()

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments())
    def check(data: dict[str, Any]) -> None:
        digest = zlib.crc32(repr(data).encode())  # decides evenly, and the same when an example is run again
        if digest // len(OTHERS) % LARGE_ONE_IN:
            data = without_large_notes(data)
        # MPIJobs are rare, and of one operator alone
        other = "kubeflow" if "mpi" in data["launcher"] else OTHERS[digest % len(OTHERS)]
        plans = {
            defaults.BACKEND: planned(data, environment)[0],
            other: obeyed({**copy.deepcopy(data), "backend": other}, environment),
        }
        for backend, plan in plans.items():
            if plan is not None:
                accepted[backend] += 1
                assert list(not_kept(addons_live, plan)) == [], backend

    check()
    # the proof is worth what it covers: most of what is drawn must be accepted
    assert accepted[defaults.BACKEND] > examples / 2, accepted
    assert all(accepted[other] > examples / len(OTHERS) / 4 for other in OTHERS), accepted


def test_published_jobs(addons_live: Live, environment: Environment) -> None:
    """The server takes what the corpus renders, with its patches, and keeps it."""
    for case in [*CASES, *REFERENCES]:
        _, job = rendered(case, namespace={"name": NAMESPACE})
        assert [*not_kept(addons_live, job.plan)] == [], case["source"]
