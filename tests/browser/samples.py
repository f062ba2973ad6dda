"""Reports whose pages are opened in a browser."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tests.review.forms.samples import EMPTY, FAILED, RICH, SEVERAL
from tests.review.forms.test_forms import hostile
from tests.review.jobs import LORA, change, context, deployed, job_review
from tests.review.screen import PRICED, TODAY, shown_review
from trainform.review.context import Context
from trainform.review.model import Report, Review
from trainform.review.report import build_report
from trainform.review.whole import review_of
from trainform.spec.environment import Environment

LONG = "registry.example.com/" + "research-platform/" * 8 + "trainer:2026.11"
HOSTILE = {
    "one-word": "Donaudampfschifffahrtsgesellschaft" * 9,
    "tags": "<script>alert(1)</script><img src=x onerror=alert(1)><b>",
    "right-to-left": "مهمة التدريب الكبيرة \u202e של אימון \u2067abc",
    "signs": "🚀🧪 東京 é ﷽",
    "name": "registry-of-the-research-platform-" + "x" * 266,
}


def of_stack(preview: Context, cluster: dict[str, Any] = PRICED) -> Report:
    """Return the report on the preview of a stack, in an environment with prices."""
    environment = Environment.model_validate(cluster)
    return build_report(dataclasses.replace(preview, stack="sdxl-lora.dev", environment=environment, today=TODAY))


def thousand() -> Report:
    """Return a new job of 1,024 pods in four roles, with an image of a long name."""
    pods = {"actor": 512, "critic": 256, "reward": 128, "reference": 128}
    roles = {name: {"replicas": replicas, "accelerators": {"a800": 8}} for name, replicas in pods.items()}
    kinds = {**PRICED["accelerators"], "a800": {**PRICED["accelerators"]["a800"], "nodes": 2048}}
    cluster: dict[str, Any] = {**PRICED, "accelerators": kinds}
    return of_stack(context(job_review(None, deployed({**LORA, "image": LONG, "roles": roles}, cluster))), cluster)


def several(reports: Sequence[Report]) -> Review:
    """Return the reports as those of stacks with different names."""
    return review_of(
        [report.model_copy(update={"stack": f"{place} {report.stack}"}) for place, report in enumerate(reports)]
    )


def full_of(text: str) -> Review:
    """Two stacks with this text in every place."""
    return several([report for each in (RICH, FAILED) for report in hostile(text, review_of([each])).stacks])


UNCHANGED = of_stack(change(LORA, LORA))
REVIEWS: dict[str, Review] = {
    "first": review_of([of_stack(change(None, LORA))]),
    "replaced": shown_review(),
    "findings": review_of([RICH]),
    "thousand": review_of([thousand()]),
    # three have a picture of a job of the same name
    "several": several([RICH, *shown_review().stacks, UNCHANGED, EMPTY, FAILED, *SEVERAL.stacks]),
    # more than are shown unfolded: those that weigh are, and the first of them has a picture
    "many": several([RICH, FAILED, UNCHANGED, *[EMPTY] * 10]),
    "unchanged": review_of([UNCHANGED]),
    **{name: full_of(text) for name, text in HOSTILE.items()},
}
