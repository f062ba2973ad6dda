"""What changes in the parts of a picture beyond what they say of themselves: variables, commands, policies, and
whatever else their objects have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from trainform.manifests.templates import Template
from trainform.review import steps
from trainform.review.causes import causes
from trainform.review.changes import Names, body_differences, field_change, field_differences, new_names
from trainform.review.context import Context, JobReview
from trainform.review.difference import Difference
from trainform.review.model import FieldChange, PictureFact
from trainform.review.objects import templates_of
from trainform.review.preview import Step
from trainform.review.stand_ins import CHANGED_MASK, MASKED

PARTS: Mapping[str, str] = {steps.CLAIM: "claim", steps.QUEUE: "queue", steps.SECRET: "secret"}
"""The objects that are parts of their own; all others belong to the job."""
ROLE, JOB, SECRET = "role/", "job/", "secret/"  # before the names of parts in their ids
OF_PARTS = ("roles.", "storage.", "queue.", "ssh.")
"""Fields of an experiment that belong to other parts than the job."""
LABELS: Mapping[str, str] = {"replicas": "pods", "cpu": "CPU", "storage": "size", "storageClassName": "class"}
"""The labels of facts by the fields that they tell, where the two differ."""
MOST = 3  # fields that are named before they are counted


class Changed(Struct, frozen=True):
    """fields: those that change, by the ids of the parts. replaced: the job object is made anew, and all its pods with
    it."""

    fields: Mapping[str, Sequence[FieldChange]] = {}
    replaced: bool = False

    def facts(self, part: str, told: Iterable[PictureFact]) -> list[PictureFact]:
        """What the part says of its change, beside what is told already."""
        found = [_fact("replaced", "with its job")] if self.replaced and part.startswith(ROLE) else []
        known = {fact.label for fact in told if fact.before != fact.after}
        fields = [each for each in self.fields.get(part, ()) if _label(each) not in known]
        values = [each for each in fields if part.startswith(SECRET) and each.path.startswith(steps.SECRET_VALUES)]
        if values:
            found.append(PictureFact(label="value", before=MASKED, after=CHANGED_MASK))
        paths = [each.path for each in fields if each not in values]
        return [*found, _fact("changes", _listed(paths))] if paths else found

    def marks(self, part: str) -> bool:
        """True for a part that changes, whatever it says of itself."""
        return bool(self.fields.get(part)) or (self.replaced and part.startswith(ROLE))


def _label(field: FieldChange) -> str:
    """The label of the fact that tells the field, if there is one."""
    last = field.path.rpartition(".")[2]
    return LABELS.get(last, last)


def _fact(label: str, text: str) -> PictureFact:
    return PictureFact(label=label, before=text, after=text)


def _listed(paths: Sequence[str]) -> str:
    every = [*dict.fromkeys(paths)]
    rest = len(every) - MOST
    return ", ".join(every) if rest <= 0 else f"{', '.join(every[:MOST])} and {rest} more"


def changed(context: Context, job: JobReview) -> Changed:
    """What changes in each part of the job; nothing where no object of it does, whatever its files say."""
    touched = [
        step for step in job.steps if step.is_object and not steps.is_record(step) and steps.fate(step) != "none"
    ]
    if not touched:
        return Changed()
    names = new_names(job)
    found = _of_objects(touched, names)
    written = [FieldChange(path=each.place.path, before=each.before, after=each.after) for each in causes(job).visible]
    if written:
        found[JOB] = [each for each in written if not each.path.startswith(OF_PARTS)]
    sides = (templates_of(job, context.environment, after=after) for after in (False, True))
    before, after = ([] if side is None else side for side in sides)
    for role, of_pods in _of_pods(before, after, names).items():
        own = _below(written, f"roles.{role}.")
        found[f"{ROLE}{role}"] = own if own else [field_change(each) for each in of_pods]
    return Changed(found, job.job is not None and steps.fate(job.job) == "replace")


def _of_objects(touched: Iterable[Step], names: Names) -> dict[str, list[FieldChange]]:
    found: dict[str, list[FieldChange]] = defaultdict(list)
    for step in touched:
        kind = steps.kind(step)
        part = f"{PARTS[kind]}/{steps.name(step)}" if kind in PARTS else JOB
        found[part] += [field_change(each) for each in field_differences(step, names)]
    return found


def _below(fields: Iterable[FieldChange], path: str) -> list[FieldChange]:
    """The fields below the path, by the rest of theirs."""
    return [
        each.model_copy(update={"path": each.path.removeprefix(path)}) for each in fields if each.path.startswith(path)
    ]


def _of_pods(before: Sequence[Template], after: Sequence[Template], names: Names) -> dict[str, list[Difference]]:
    """How the pods of each role differ; of a role with several templates, each with the one in its place."""
    old, new = (_by_role(templates) for templates in (before, after))
    return {
        role: [
            found
            for was, will in zip(old[role], new[role], strict=False)
            for found in body_differences(was.body, will.body, names)
        ]
        for role in new.keys() & old.keys()
    }


def _by_role(templates: Iterable[Template]) -> dict[str, list[Template]]:
    found: dict[str, list[Template]] = defaultdict(list)
    for template in templates:
        found[template.role].append(template)
    return found
