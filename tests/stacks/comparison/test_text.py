"""A comparison as people and machines read it."""

from __future__ import annotations

from msgspec import structs

from tests.stacks.comparison.test_compare import role, version
from trainform.console import terminal
from trainform.stacks.comparison.compare import compare
from trainform.stacks.comparison.text import as_data, sections

DEV = structs.replace(version("resnet.dev", {"name": "dev"}), facts={"revision": "1f3a9c", "release": ""})
PROD = structs.replace(version("resnet.prod", {"name": "prod"}, roles=role(replicas=16)), facts={"revision": "77ab01"})


def test_a_terminal_gets_a_table() -> None:
    assert [line.text for line in terminal.lines_of([sections(compare(DEV, PROD))], 80)] == [
        "Comparison of resnet.dev and resnet.prod",
        "  1 field of the experiment differs.",
        "  resnet.dev: revision 1f3a9c.",
        "  resnet.prod: revision 77ab01.",
        "",
        "What differs in the experiment",
        "  field                resnet.dev  resnet.prod",
        "  roles.node.replicas  2           16",
        "",
        "What differs in what the environments give",
        "  field  resnet.dev  resnet.prod",
        '  name   "dev"       "prod"',
    ]


def test_machines_get_every_value() -> None:
    found = as_data(compare(DEV, PROD))
    assert found == {
        "same": False,
        "versions": [{"name": "resnet.dev", "revision": "1f3a9c", "release": ""},
            {"name": "resnet.prod", "revision": "77ab01"}],
        "experiment": ({"path": "roles.node.replicas", "values": (2, 16)},),
        "environment": ({"path": "name", "values": ("dev", "prod")},),
    }  # fmt: skip
