"""Support by operators of the experiment's fields, labels and annotations: for problems, notes and a page of the
docs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct
from pydantic import BaseModel

from trainform.errors import Problem
from trainform.plan.model import Plan


class Support(Struct, frozen=True):
    """The support of an operator for a field.

    how: the operator's way to do it, or the reason why the field is not supported; an experiment that sets such a field
    is refused. fix: what to write instead. elsewhere: the fix names the backends that support the field
    (`backends.refusals`). noted: the plan has a note about the field, since its effect may surprise; it ends with the
    same fix.
    """

    how: str
    fix: str = ""
    elsewhere: bool = False
    noted: bool = False

    @property
    def is_refusal(self) -> bool:
        """Return True if the operator does not support the field."""
        return not self.noted and (self.elsewhere or self.fix != "")


def done_by(how: str) -> Support:
    """Support the field; `how` describes it in the operator's terms."""
    return Support(how)


def noted(how: str, fix: str = "", *, elsewhere: bool = False) -> Support:
    """Support the field, or leave it out, in a way that may surprise: the plan has a note about it. elsewhere: the note
    ends with the backends that have none."""
    return Support(how, fix, elsewhere, noted=True)


def refused(reason: str, fix: str = "", *, elsewhere: bool = False) -> Support:
    """Refuse the field: setting it is an error. elsewhere: the fix ends with the backends that support the field."""
    return Support(reason, fix, elsewhere)


LIMITED_RESTARTS = "write `restart: 3 times` to limit how often containers start again"
"""What to write in the place of `max_retry`, for an operator that never starts a whole job anew."""


def no_policies(operator: str) -> dict[str, Support]:
    """Return the fields of lifecycle policies, for an operator without them."""
    refusal = refused(f"lifecycle policies are Volcano's, and {operator} has none", "remove them, and use `restart`")
    return {"policies": refusal, "roles.*.policies": refusal}


def fixed_size(operator: str) -> Support:
    """Return the note on an elastic job, for an operator with a fixed number of pods."""
    how = f"{operator} has a fixed number of pods, so another number of replicas is a new revision here and no change "
    return noted(f"{how}in place", elsewhere=True)


def pods_stay(operator: str) -> dict[str, Support]:
    """Return the refusal of `clean_pods`, for an operator that always deletes the pods that still run."""
    how = f"when a job has ended, {operator} deletes the pods that still run, and has no field for another choice"
    return {"clean_pods": refused(how, "remove it", elsewhere=True)}


NO_RUNTIME: dict[str, Support] = {"runtime": refused("only Kubeflow Trainer has runtimes", "remove it", elsewhere=True)}
"""The field of an existing runtime, for an operator without runtimes."""


Fields = Mapping[str, Support]
"""Support by the path of a field, with `*` for any name in it: `roles.*.policies`. Any other field is supported as its
text describes."""


def non_default(model: BaseModel, field: str) -> Iterator[tuple[str, Any]]:
    """Yield path and value of each occurrence of the field whose value is not the default."""
    yield from _non_default(model, field.split("."), "")


def _non_default(value: Any, parts: list[str], path: str) -> Iterator[tuple[str, Any]]:
    if not parts:
        yield path, value
        return
    first, *rest = parts
    if isinstance(value, dict):
        for name in value if first == "*" else [first]:
            if name in value:
                yield from _non_default(value[name], rest, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _non_default(item, rest, f"{path}[{index}]")
    elif isinstance(value, BaseModel) and first in type(value).model_fields:
        given = getattr(value, first)
        default = type(value).model_fields[first].get_default(call_default_factory=True, validated_data={})
        if rest or given != default:
            yield from _non_default(given, rest, f"{path}.{first}" if path else first)


def overwritten(plan: Plan, setter: str, own: Iterable[str]) -> Iterator[Problem]:
    """Yield a problem for each label and annotation of pods that the operator or trainform would overwrite.

    own: keys, and prefixes that end in `/`. `backends.patch_rules` judges those of merge patches.
    """
    keys = {*own}
    for role in plan.roles:
        for field, values in (("labels", role.labels), ("annotations", role.annotations)):
            for key, value in values.items():
                if is_one_of(key, keys):
                    reason = f"the key is set by {setter} itself"
                    yield Problem(f"roles.{role.name}.{field}.{key}", value, reason, "choose another key")


def is_one_of(key: str, keys: Collection[str]) -> bool:
    """Return whether the label or annotation is one of these keys, or begins with one that ends in `/`."""
    return key in keys or any(key.startswith(prefix) for prefix in keys if prefix.endswith("/"))


def follows(plan: Plan, field: Literal["labels", "annotations"], key: str, fix: str) -> Iterator[Problem]:
    """Yield a problem if the user sets a label or annotation of the job that trainform sets from a field.

    fix: that field.
    """
    value = getattr(plan, field).get(key)
    if value is not None:
        yield Problem(f"{field}.{key}", value, "the key is set by trainform itself", f"remove it, and set {fix}")
