"""Whatever a preview holds, there is a report: newer operations, missing sides, values of other types."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.review.jobs import LORA, PROVIDER, context, deployed
from trainform.cluster.facts import LiveFacts, LiveJob
from trainform.review.changes import object_changes, role_changes
from trainform.review.context import JobReview
from trainform.review.effects import effects
from trainform.review.findings import contract, data, restart, security
from trainform.review.headline import headline
from trainform.review.model import Cost
from trainform.review.preview import State, Step
from trainform.review.stand_ins import MASKED

WORDS = st.sampled_from(
    ["metadata", "name", "spec", "template", "containers", "env", "value", "data", "roles", "environment", "image",
     "storage", "worker", "resources", "requests", "securityContext", "capabilities", "add", "volumes", "hostPath",
     "annotations", "tasks", "experiment", "network"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "main", MASKED, "2Ti"]),
    lambda below: st.dictionaries(WORDS, below, max_size=4) | st.lists(below, max_size=3),
    max_leaves=12,
)
MAPPINGS = st.dictionaries(WORDS, VALUES, max_size=5)
STATES = st.none() | st.builds(State, MAPPINGS, keep=st.booleans(), provider=st.sampled_from(["", PROVIDER]))
OPERATIONS = st.sampled_from(["same", "create", "update", "delete", "replace", "import", "teleport", ""])
TYPES = st.sampled_from(
    ["kubernetes:core/v1:PersistentVolumeClaim", "kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Secret",
     "kubernetes:scheduling.volcano.sh/v1beta1:QueuePatch", "kubernetes:batch.volcano.sh/v1alpha1:Job", "kubernetes:x",
     "kubernetes:core/v1:Namespace", "trainform:index:RoleGroup", "trainform:index:SharedStorage", "aws:s3:Bucket", ""]
)  # fmt: skip
DETAILS: st.SearchStrategy[dict[str, str] | None] = st.none() | st.just({})
STEPS = st.builds(Step, OPERATIONS, st.text(max_size=3), TYPES, st.sampled_from(["sdxl-lora-job", "x", ""]), STATES, STATES, detail=DETAILS)  # fmt: skip
RECORD = deployed(LORA).record
LIVE = st.sampled_from(
    [None, LiveFacts("now"), LiveFacts("now", jobs=(LiveJob("sdxl-lora", "Odd", "", "yesterday", {}),))]
)


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=6), STEPS, STEPS, MAPPINGS, LIVE)
def test_there_is_always_a_report(
    steps: list[Step], component: Step, job: Step, experiment: dict[str, Any], live: LiveFacts | None
) -> None:
    assert RECORD is not None
    odd = structs.replace(RECORD, experiment=experiment, environment=experiment)
    reviews = [
        JobReview("sdxl-lora", component, job, odd, RECORD, tuple(steps)),
        JobReview("other", component, job, None, None, (*steps, job)),
        JobReview("third", None, None, RECORD, None, ()),
    ]
    made = context(*reviews, others=steps, live=live)
    findings = [finding for room in (contract, data, restart, security) for finding in room.find(made)]
    found = effects(made)
    assert found
    assert all(effect.sentence.endswith((".", "…")) for effect in found)
    assert headline(made, found, findings, Cost())
    assert all(change.model_dump_json() for change in (*object_changes(made), *role_changes(made)))
