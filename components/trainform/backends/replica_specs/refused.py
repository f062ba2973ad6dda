"""Words and numbers of a run policy and of replica specs that the operators take, and that are none of theirs: they would be taken for others. And what
one of them cannot do with the pods there.

Source: training-operator 1.9.3, `pkg/controller.v1/common`; KubeDL 0.5.0, `pkg/job_controller`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform import defaults
from trainform.backends.backend import Backend
from trainform.backends.replica_specs.kinds import rendered_kind, rendered_specs
from trainform.backends.replica_specs.specs import ALL_WORKERS, LEFT_RUNNING, RUNNING
from trainform.manifests.served.mistake import Mistake, joined
from trainform.manifests.served.run_time import run_time_mistakes
from trainform.manifests.shapes import mapping
from trainform.plan.model import Plan

_CLEANED = ("All", RUNNING, LEFT_RUNNING)
_RESTARTS = ("Always", "Never", "OnFailure")
_SUCCESSES = ("", ALL_WORKERS)


def refused_pods(plan: Plan, body: dict[str, Any], backend: Backend) -> Iterator[Mistake]:
    """What the operator cannot do with the pods in a job, each at its place there."""
    kind = rendered_kind(body)
    for name, each in rendered_specs(body).items():
        template = mapping(each.get("template"))
        labels = mapping(mapping(template.get("metadata")).get("labels"))
        role = plan.by_name.get(str(labels.get(defaults.ROLE_LABEL)))
        for found in () if role is None else backend.refused_of_pods(plan, role, template, kind.container):
            yield found.below(f"spec.{kind.field}.{name}.template")


def refused(body: dict[str, Any], run_policy: str = "") -> Iterator[Mistake]:
    """Each mistake at its place in the job. run_policy: the field of the spec that has the run policy, where it is not the spec itself."""
    spec = body["spec"]
    policy = mapping(spec.get(run_policy)) if run_policy else spec
    kind = rendered_kind(body)
    field = f"spec.{kind.field}"
    words = [
        (joined("spec", joined(run_policy, "cleanPodPolicy")), policy.get("cleanPodPolicy"), _CLEANED),
        ("spec.successPolicy", spec.get("successPolicy"), _SUCCESSES),
        *(
            (f"{field}.{name}.restartPolicy", each.get("restartPolicy"), (*_RESTARTS, *kind.own_restarts))
            for name, each in rendered_specs(body).items()
        ),
    ]
    for where, value, known in words:
        if value is not None and value not in known:
            fix = f"write one of {', '.join(filter(None, known))}, or remove it"
            yield Mistake(where, value, "the operator knows no such word here, and would take it for another one", fix)
    yield from (found.below(joined("spec", run_policy)) for found in run_time_mistakes(policy))
