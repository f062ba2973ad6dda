"""`docs/reference/backends.md`: where operators differ, generated from the tables of the backends."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from tools.docs.markdown import item, page, paragraph, table
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.support import Support
from trainform.spec.experiment import Experiment
from trainform.spec.places import models_of

INTRODUCTION = """\
Written by `make golden` from the tables in `components/trainform/backends`.

`backend:` in an experiment names the operator that runs the job; without it the environment's is used. `trainform \
check` refuses what the operator cannot do, says why and what to write, and names the backends that can. [Move a job \
to another operator](../how-to/move-between-operators.md) has the steps."""

REPLICAS = """\
Labels and annotations of the job change in place on all operators. Replicas change in place only for unranked roles \
and for an elastic job within its bounds. What other controllers write into a job, such as Kueue's `suspend`, is never \
a change. `Ends by` matters where some pods never end by themselves: [how a job ends](../explanation/failure.md)."""

ADMISSION = """\
`admission` of the environment: with `volcano` all pods of a job start together, in a queue of Volcano; `kueue` admits \
a job that names a LocalQueue when all of it fits. With `none` each pod starts when it fits. It then waits for the \
names of all pods of the training, `network.wait` at most, and fails with a list of those that are missing: two jobs \
that each hold half of the nodes both end. Some operators must run with or without an option for it (`Gang` above); \
`trainform sandbox up -e ENV` starts them as the environment needs."""

LEGEND = """\
A field that is not in this table does what [its text](fields.md) says on all operators, and so does `yes`. `differs`: \
in the operator's own way, see below. `noted`: the same, and it may surprise, so `check` and `plan` have a note. \
`refused`: with all its parts."""


def comparison_page() -> str:
    """Markdown: the objects of each operator, then where it differs from what an experiment's fields say."""
    return page(
        "# Backends",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        "## Objects and endings",
        "\n".join(_operators()),
        paragraph(REPLICAS),
        "## Admission",
        table(("`admission`", *BACKENDS), _admissions()),
        paragraph(ADMISSION),
        "## Where they differ",
        paragraph(LEGEND),
        table(("field", *BACKENDS), _overview()),
        "## In their own way",
        "\n".join(_differences()),
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
        yield item(f"**{name}**: {backend.MAKES}.")
        yield item(f"Changes in place: {', '.join(f'`{path}`' for path in backend.IN_PLACE)}.", depth=1)
        yield item(f"Ends by: {backend.ENDS}.", depth=1)
        if backend.GANG:
            yield item(f"Gang: {backend.GANG}.", depth=1)


def _admissions() -> Iterator[tuple[str, ...]]:
    for name in defaults.ADMITS:
        words = ("yes" if name in backend.ADMISSIONS else "refused" for backend in BACKENDS.values())
        yield (f"`{name}`", *words)


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


def _differences() -> Iterator[str]:
    """Yield an item for each field that some operators handle in their own way; fields with the same texts share
    one."""
    fields: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for field in field_paths(Experiment):
        ways = _ways(field)
        if ways:
            fields.setdefault(tuple(ways.items()), []).append(f"`{field}`")
    for texts, names in fields.items():
        yield item(", ".join(names))
        yield from (item(f"{operators}: {text}.", depth=1) for text, operators in texts)


def _ways(field: str) -> dict[str, str]:
    """Return each text about a supported field, with the names of the operators that it is true of."""
    ways: dict[str, str] = {}
    for name, backend in BACKENDS.items():
        support = backend.FIELDS.get(field)
        if support is not None and not support.is_refusal:
            ways[support.how] = f"{ways[support.how]}, {name}" if support.how in ways else name
    return ways
