"""`docs/reference/backends.md`: where operators differ, generated from the tables of the backends."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from tools.docs.markdown import item, page, paragraph, table
from trainform.backends.refusals import support_fix
from trainform.backends.support import Support
from trainform.backends.table import BACKENDS
from trainform.spec.base_model import models_of
from trainform.spec.experiment import Experiment

INTRODUCTION = """\
Written by `make golden` from the tables in `components/trainform/backends`, so it says what is rendered and refused.

`backend:` in an experiment names the operator that runs the job; empty, it is the one of the environment. The \
experiment stays the same. \
What an operator cannot express is refused by `trainform check` where meaning would be lost, and noted by it and by \
`trainform plan` where \
it would not. To change the operator of a job, read [Move a job to another \
operator](../how-to/move-between-operators.md)."""

REPLICAS = """\
Labels and annotations of the job change in place everywhere. Replicas, where they stand above, change in place for \
roles whose number no \
process was given: unranked ones, and that of an elastic job within its bounds. What other controllers write into a \
job (Kueue's `suspend` \
and its entry of `runtimePatches`, defaults of webhooks) is never a change."""

ENDINGS = """\
A job ends when all its pods have succeeded. Where others would run on (SSH servers, parameter servers, unranked \
roles), it ends with one \
role: the one that launches, TensorFlow's chief or else all its workers, or, where the job has unranked roles, the \
role of rank 0. \
`trainform plan` reads what ends the job from the rendered objects, your patches and policies included, and says so \
where nothing does. \
A PyTorchJob differs: with training-operator the end of its Master ends it, and workers that still run are removed.

Where other pods would run on, the job ends by:"""

FIELDS = """\
Every field that is not in this table does on all operators what [its text](fields.md) says."""

LEGEND = """\
`yes`: as its text says. `differs`: done in the operator's own way. `noted`: done, or left out, in a way that may \
surprise; `check` and \
`plan` say so. `refused`: `check` refuses it. A field is refused in its parts, too."""


def comparison_page() -> str:
    """Markdown: what each operator is given, then where it differs from what an experiment's fields say."""
    return page(
        "# Backends",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        "## What an operator is given",
        "\n".join(_operators()),
        paragraph(REPLICAS),
        "## How a job ends",
        *map(paragraph, ENDINGS.split("\n\n")),
        "\n".join(item(f"**{name}**: {backend.ENDS}.") for name, backend in BACKENDS.items()),
        "## Where they differ",
        paragraph(FIELDS),
        table(("field", *BACKENDS), _overview()),
        paragraph(LEGEND),
        *(block for name in BACKENDS for block in _differences(name)),
    )


def field_paths(kind: type[BaseModel], path: str = "") -> Iterator[str]:
    """Yield every field in the order of the models, with `*` for names that the user chooses."""
    for name, field in kind.model_fields.items():
        word = name if field.alias is None else field.alias
        where = f"{path}.{word}" if path else word
        yield where
        below = models_of(field.annotation)
        many = "dict[" in str(field.annotation) or "list[" in str(field.annotation)
        for model in below:
            yield from field_paths(model, f"{where}.*" if many else where)


def _operators() -> Iterator[str]:
    for name, backend in BACKENDS.items():
        yield item(f"**{name}**: {backend.MAKES}; admitted by {' or '.join(backend.ADMISSIONS)}.")
        yield item(f"Changes in place: {', '.join(f'`{path}`' for path in backend.IN_PLACE)}.", depth=1)


def _overview() -> Iterator[tuple[str, ...]]:
    named = {field for backend in BACKENDS.values() for field in backend.FIELDS}
    for field in field_paths(Experiment):
        if field in named:
            yield (f"`{field}`", *(_word(_support(field, name)) for name in BACKENDS))


def _support(field: str, backend: str) -> Support | None:
    """Return the operator's support of a field; a field that it refuses is refused with its parts."""
    fields = BACKENDS[backend].FIELDS
    parts = field.split(".")
    above = [".".join(parts[: length + 1]) for length in range(len(parts))]
    return next((fields[path] for path in above if path in fields and fields[path].is_refusal), fields.get(field))


def _word(support: Support | None) -> str:
    if support is None:
        return "yes"
    return "refused" if support.is_refusal else "noted" if support.noted else "differs"


def _differences(backend: str) -> Iterator[str]:
    """The section of one operator: its own way with fields."""
    yield f"### {backend}"
    fields: dict[str, list[str]] = {}
    for field in field_paths(Experiment):
        support = BACKENDS[backend].FIELDS.get(field)
        if support is not None:
            fields.setdefault(_text(field, support), []).append(f"`{field}`")
    yield "\n".join(item(f"{', '.join(names)}: {text}") for text, names in fields.items())


def _text(field: str, support: Support) -> str:
    if support.is_refusal:
        return f'refused: "{support.how}". Fix: {support_fix(field, support)}.'
    return (
        f"noted: {support.how}. If that is not wanted: {support_fix(field, support)}."
        if support.noted
        else f"{support.how}."
    )
