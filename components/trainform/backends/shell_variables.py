"""`$NAME` and `${NAME}` where no shell reads them: Kubernetes puts in `$(NAME)` alone, and the program gets the text itself.

They are notes and no problems, since a program may read them by itself. A word with spaces is left out: it is a text, or a program in some language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trainform.backends.backend import Backend
from trainform.backends.texts import VARIABLE, Fields, Text, few, of_launch, shown, texts
from trainform.manifests.env import PodConventions
from trainform.manifests.templates import Template
from trainform.plan.model import Plan
from trainform.spec.experiment import Experiment

_MEANT = re.compile(
    r"\$\$|\$\([^)]{0,512}\)|(?P<before>^|[=/:,])?\$(\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<bare>[A-Za-z_][A-Za-z0-9_]*))",
    re.ASCII,
)
_SPACE = re.compile(r"\s")


def shell_variable_notes(
    experiment: Experiment, plan: Plan, backend: Backend, templates: Iterable[Template]
) -> Iterator[str]:
    """One for each name in a field."""
    conventions = backend.conventions(plan)
    fields = Fields(experiment, plan, conventions)
    found: dict[tuple[str, str], str] = {}
    for text in texts(templates):
        if text.by_shell or _SPACE.search(text.text) is not None or _by_remote_shell(text, plan):
            continue
        own = conventions.of(text.container.template.role)
        for match in _MEANT.finditer(text.text):
            name = match["braced"] or match["bare"]
            if name is not None and (_is_known(name, text, plan, own) or _looks_meant(text, match, name)):
                path = fields.of(text)
                found.setdefault((path, name), f"{path}: {_note(text, match[0].lstrip('=/:,'), name, own)}")
    yield from few([*found.values()], "names behind a `$` stay as they stand")


def _is_known(name: str, text: Text, plan: Plan, conventions: PodConventions) -> bool:
    """Whether the container has the variable when its program runs."""
    own, added = text.container.shown, conventions.appended
    return name in own or name in added or name in of_launch(text, plan, conventions)


def _looks_meant(text: Text, match: re.Match[str], name: str) -> bool:
    """Whether a name of which nothing here knows is written as a variable of the image's or the shell's: `--out=$HOME`."""
    return text.variable is None and match["before"] is not None and VARIABLE.fullmatch(name) is not None


def _by_remote_shell(text: Text, plan: Plan) -> bool:
    """DeepSpeed hands the words to a shell on every node."""
    by_launcher = plan.launcher == "deepspeed" and text.container.template.role == plan.launches
    return by_launcher and text.variable is None and not text.run_by


def _note(text: Text, written: str, name: str, conventions: PodConventions) -> str:
    stays = f"`{written}` stays as it stands: no shell reads it"
    if text.run_by:
        return f"{stays}; write `[sh, -c, '… ${name} …']`"
    meant = f"`${written}` where this text is meant"
    if text.variable is not None and shown(text.variable) == name:
        return f"{stays}, and a variable's own name is not known before; write the whole value, or {meant}"
    if name in text.container.shown or (name in conventions.appended and text.variable is None):
        return f"{stays}, and Kubernetes puts in `$({name})` alone; write that, or {meant}"
    unknown = f"Kubernetes does not know what {_source(name, text, conventions)}"
    return f"{stays}, and {unknown}; read it in the program or in a shell (`[sh, -c, '… ${name} …']`), or write {meant}"


def _source(name: str, text: Text, conventions: PodConventions) -> str:
    return "the operator adds later" if name in conventions.appended else "the image or the launch script sets"
