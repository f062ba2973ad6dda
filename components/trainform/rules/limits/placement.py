"""Placement of pods: the scheduler of the admission, and the environment's node selectors and tolerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trainform import defaults
from trainform.manifests.manifest import mapping, mappings
from trainform.manifests.templates import DEFAULT_SCHEDULER
from trainform.rules.limits.resources import Demand, with_demands
from trainform.rules.limits.rule import Finding, Judged, Named, not_allowed
from trainform.spec.environment import Accelerator, Environment
from trainform.spec.roles import Toleration

_SCHEDULERS = {defaults.VOLCANO: defaults.VOLCANO, defaults.KUEUE: DEFAULT_SCHEDULER}
"""The scheduler of the pods that a queue system admits."""
Taints = tuple[object, object, object, object]
"""Key, operator, value and effect of a toleration."""
JOB_LABEL = "metadata.labels.kueue.x-k8s.io/queue-name"


def node_name(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that name their node, so that no scheduler and no queue places them."""
    for template in judged.templates:
        name = template.spec.get("nodeName")
        if name not in (None, ""):
            reason = "the pods name their node, so no scheduler and no queue places them"
            yield Finding("spec.nodeName", name, reason, "remove it; choose nodes by `node_selector`", template)


def scheduler(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that bypass the environment's admission, by their scheduler or their queue."""
    if not judged.admitted:
        return
    of_kueue = [named for named in judged.names if named.what == "queue" and named.admission == defaults.KUEUE]
    if environment.admission != defaults.KUEUE:
        yield from _other_admission(of_kueue, environment)
    needed = _SCHEDULERS.get(environment.admission)
    for template in judged.templates if needed is not None else ():
        chosen = template.scheduled_by
        if chosen != needed:
            reason = (
                f"the scheduler is not {needed}, so the pods bypass the queues of the environment {environment.name}"
            )
            yield Finding("spec.schedulerName", chosen, reason, f"write `schedulerName: {needed}`", template)
    # Kueue reads the label of the job, not that of its pods
    in_queue = any(named.template is None for named in of_kueue)
    if environment.admission == defaults.KUEUE and judged.templates and not in_queue:
        reason = (
            f"no label gives the pods to a queue of Kueue, so they bypass the queues of the environment "
            f"{environment.name}"
        )
        fix = f"add the label with a LocalQueue of the namespace {environment.namespace.name}"
        yield Finding(JOB_LABEL, None, reason, fix, judged.templates[0])


def _other_admission(of_kueue: list[Named], environment: Environment) -> Iterator[Finding]:
    """Yield labels that give jobs or pods to Kueue where it does not admit jobs, each queue once. Without Volcano's
    admission names of its queues have no effect: another scheduler places the pods."""
    for named in {str(named.value): named for named in reversed(of_kueue)}.values():
        admits = f"in the environment {environment.name} {defaults.ADMITS[environment.admission]}"
        reason = f"it gives the job to a queue of Kueue, and {admits}"
        fix = "remove it, or use an environment with Kueue's admission"
        yield Finding(named.where, named.value, reason, fix, named.template, named.key, everywhere=True)


def node_selectors(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that lack a node selector of the environment, or of the accelerator kind that they request."""
    for template, asked in with_demands(judged, environment):
        selected = mapping(template.spec.get("nodeSelector"))
        for owner, labels in _selectors(asked, environment):
            for key, value in labels.items():
                if selected.get(key) != value:
                    reason = f"the node selector of {owner} is {value}, and the pods have {selected.get(key, 'none')}"
                    fix = f"remove your own value of {key}, or write {value}"
                    yield Finding(f"spec.nodeSelector.{key}", selected.get(key), reason, fix, template)


def missing_tolerations(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that lack a toleration of the environment, or of the accelerator kind that they request."""
    for template, asked in with_demands(judged, environment):
        given = mappings(template.spec.get("tolerations"))
        for owner, toleration in _tolerations(asked, environment):
            if not any(_covers(_taints(each), toleration) for each in given):
                reason = f"the pods lack the toleration of {owner} ({_shown(toleration)})"
                fix = "keep it in your patch: a list in a merge patch replaces the whole list"
                yield Finding("spec.tolerations", None, reason, fix, template)


def tolerations(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield tolerations of every taint, or of taints that the environment does not allow."""
    holders: list[Environment | Accelerator] = [environment, *environment.accelerators.values()]
    own = [_taints(each) for holder in holders for each in holder.tolerations]
    allowed = environment.limits.tolerations
    for template in judged.templates:
        for index, given in enumerate(mappings(template.spec.get("tolerations"))):
            where, key = f"spec.tolerations[{index}]", given.get("key")
            if any(_covers(each, _taints(given)) for each in own):
                continue
            if key in (None, ""):
                reason = (
                    "the toleration has no key, so the pods may land on every node, also on those that are taken out "
                    "of use"
                )
                yield Finding(where, given.get("operator"), reason, "name the key of one taint", template, bound=given)
            elif allowed is not None and str(key) not in allowed:
                names = sorted({*allowed, *(_shown(each) for each in own)})
                words = not_allowed("this toleration", names, "tolerations", environment)
                yield Finding(where, key, *words, template, bound=given)


def _selectors(asked: list[Demand], environment: Environment) -> Iterator[tuple[str, Mapping[str, str]]]:
    kinds = {demand.kind: environment.accelerators[demand.kind].node_selector for demand in asked}
    own = {key for labels in kinds.values() for key in labels}  # a kind may narrow the environment's label
    of_environment = {key: value for key, value in environment.node_selector.items() if key not in own}
    yield f"the environment {environment.name}", of_environment
    yield from ((f"the accelerator {kind}", labels) for kind, labels in kinds.items())


def _tolerations(asked: list[Demand], environment: Environment) -> Iterator[tuple[str, Taints]]:
    owners: dict[str, Environment | Accelerator] = {f"the environment {environment.name}": environment}
    owners |= {f"the accelerator {demand.kind}": environment.accelerators[demand.kind] for demand in asked}
    for owner, holder in owners.items():
        yield from ((owner, _taints(each)) for each in holder.tolerations)


def _taints(given: Toleration | dict[str, Any]) -> Taints:
    """Return key, operator, value and effect of a toleration; None for an empty text."""
    if isinstance(given, Toleration):
        return given.key, given.operator, given.value, given.effect
    written = (given.get(field) for field in ("key", "operator", "value", "effect"))
    key, operator, value, effect = (None if part == "" else part for part in written)
    return key, "Equal" if operator is None else operator, value, effect


def _covers(wide: Taints, narrow: Taints) -> bool:
    """Return True if the first toleration tolerates every taint that the second one does."""
    key, operator, value, effect = wide
    same = operator == "Exists" or (operator, value) == narrow[1:3]
    return key in (None, narrow[0]) and effect in (None, narrow[3]) and same


def _shown(taints: Taints) -> str:
    return ", ".join(str(part) for part in taints if part is not None)
