"""`docs/reference/components.md`: every component with its inputs, outputs and an example, generated from the
classes."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import pulumi

import trainform
from tools.docs.markdown import item, page, paragraph

ORIGIN = """\
Written by `make golden` from the classes in `components/trainform/resources`. `TrainingJob` makes all others but \
`Platform`. Each works alone in a Pulumi program too, and inside a component of your own.

All but `Platform` and `TrainingQueue` need the environment's namespace before the first preview, so `Platform` \
belongs to a program of its own."""
SHARED = "Inputs of several components:"
MOCKS = """\
With `pulumi.runtime.set_mocks` the files are checked and the live cluster is not. `set_all_config` sets the secret \
that SSH keys are derived from. `python -m unittest test_jobs` runs this file, `test_jobs.py` in the project's \
folder:"""
HEADING = "## In unit tests"
OTHERS = "A program may import these names too; all others may change in each version:"

# A whole module of tests. A test runs it in the repository.
TEST_EXAMPLE = """\
import unittest

import pulumi
from trainform import TrainingJob


class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        return [f"{args.name}-id", args.inputs]

    def call(self, args):
        return {}


pulumi.runtime.set_mocks(Mocks(), project="trainform", stack="resnet.dev", preview=False)
pulumi.runtime.set_all_config({"trainform:sshSecret": "a secret of thirty-two characters"}, ["trainform:sshSecret"])


class TestJobs(unittest.TestCase):
    @pulumi.runtime.test
    def test_size(self):
        job = TrainingJob("resnet", experiment="resnet", environment="dev")
        return job.accelerators.apply(lambda found: self.assertEqual(found, {"a800": 16}))
"""

# A whole program each. A test runs all of them.
EXAMPLES: Mapping[str, str] = {
    "TrainingJob": """\
import pulumi
from trainform import TrainingJob

job = TrainingJob("resnet", experiment="resnet", environment="dev")
pulumi.export("master", job.master)
""",
    "TrainingQueue": """\
import pulumi
from trainform import QueueRequest, TrainingQueue

queue = TrainingQueue("team-nlp", QueueRequest(weight=2, capability={"a800": 16}), environment="dev")
pulumi.export("queue", queue.queue)
""",
    "SharedStorage": """\
import pulumi
from trainform import ClaimRequest, SharedStorage

storage = SharedStorage("corpora", {"wiki": ClaimRequest(size="500Gi", keep=True)}, environment="dev")
pulumi.export("claim", storage.claims["wiki"])
""",
    "Rendezvous": """\
import pulumi
from trainform import Rendezvous

rendezvous = Rendezvous("bert-peers", selector={"app": "bert"}, environment="dev")
pulumi.export("service", rendezvous.service)
""",
    "SshIdentity": """\
import pulumi
from trainform import SshIdentity

identity = SshIdentity("bert-keys", service="bert-peers", environment="dev", port=2222, folder="/home/trainer/.ssh")
pulumi.export("secret", identity.secret)
""",
    "RoleGroup": """\
import pulumi
from trainform import RoleGroup

group = RoleGroup("resnet-node", experiment="resnet", environment="dev", role="node")
pulumi.export("template", group.template)
pulumi.export("replicas", group.replicas)
""",
    "Platform": """\
import pulumi
from trainform import Platform

platform = Platform("dev", environment="dev")
pulumi.export("queues", platform.queues)
""",
}


def components_page() -> str:
    """Markdown: the inputs that components share, then a section for each, `TrainingJob` first."""
    kinds = [getattr(trainform, name) for name in EXAMPLES]
    counts = Counter(line for kind in kinds for line in _inputs(kind))
    shared = [line for line, count in counts.items() if count > 1]
    others = ", ".join(f"`{name}`" for name in trainform.__all__ if name not in EXAMPLES)
    return page(
        "# Components",
        *map(paragraph, ORIGIN.split("\n\n")),
        SHARED,
        "\n".join(shared),
        *(block for kind in kinds for block in _section(kind, shared)),
        "## Other names",
        paragraph(f"{OTHERS} {others}."),
        HEADING,
        paragraph(MOCKS),
        f"```python\n{TEST_EXAMPLE}```",
    )


def _section(kind: type[pulumi.ComponentResource], shared: Collection[str]) -> Iterator[str]:
    yield f"## {kind.__name__}"
    text = inspect.getdoc(kind)
    assert text is not None, kind
    yield from map(paragraph, text.split("\n\n"))
    yield f"```python\n{EXAMPLES[kind.__name__]}```"
    own = [line for line in _inputs(kind) if line not in shared]
    if own:
        yield "Inputs:"
        yield "\n".join(own)
    yield "Outputs:"
    yield "\n".join(item(f"**`{name}`** (`{typed}`): {text}") for name, (typed, text) in outputs(kind).items())


def _inputs(kind: type[pulumi.ComponentResource]) -> list[str]:
    """Return an item for each input."""
    texts = input_texts(kind)
    return [
        item(f"**`{name}`** (`{parameter.annotation}`{_default(parameter)}): {texts[name]}")
        for name, parameter in parameters(kind).items()
    ]


def parameters(kind: type[pulumi.ComponentResource]) -> dict[str, inspect.Parameter]:
    """Return the inputs of a component: what its constructor takes."""
    return {name: found for name, found in inspect.signature(kind).parameters.items() if name != "self"}


def _default(parameter: inspect.Parameter) -> str:
    return "" if parameter.default is inspect.Parameter.empty else f", default `{parameter.default!r}`"


def input_texts(kind: type[pulumi.ComponentResource]) -> dict[str, str]:
    """Return the text of each input: what follows `name: ` in the constructor's docstring, over any number of lines."""
    documented = inspect.getdoc(kind.__init__)
    names = "|".join(parameters(kind))
    parts = re.split(rf"^({names}): ", "" if documented is None else documented, flags=re.MULTILINE)
    return {name: _sentence(" ".join(text.split())) for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def outputs(kind: type[pulumi.ComponentResource]) -> dict[str, tuple[str, str]]:
    """Type and text of each output: the annotated attributes of the class, with the docstring below each."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        text = ""
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
            text = str(following.value.value)
        found[statement.target.id] = (ast.unparse(statement.annotation).removeprefix("pulumi."), text)
    return found


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
