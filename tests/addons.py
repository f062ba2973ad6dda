"""A sandbox with all add-ons: one for the whole run, for the tests of every room that ask for the fixture `addons`.

`addons` is the sandbox (folder, kubeconfig, address), `addons_exports` the variables with which `pulumi` works on it. Its nodes are
like those of the environment `dev`, but more. The first test that asks builds what is missing and waits for the start; each test takes a
namespace of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainform.sandbox import Sandbox, down, exports, from_environment, up
from trainform.sandbox.addons import ADDONS
from trainform.spec.load import load_environment
from trainform.toolchain import ensure

ROOT = Path(__file__).parent.parent
NODES = 16  # of each pool: all teaching experiments fit at once


@pytest.fixture(scope="session")
def addons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A control plane with the real controllers of every add-on."""
    folder = tmp_path_factory.mktemp("sandbox") / "addons"
    settings = from_environment(load_environment("dev", ROOT).checked(), folder)
    pools = tuple(dataclasses.replace(pool, count=NODES) for pool in settings.pools)
    yield up(dataclasses.replace(settings, pools=pools, addons=tuple(ADDONS)), ensure())
    down(folder)


@pytest.fixture(scope="session")
def addons_exports(addons: Sandbox) -> dict[str, str]:
    """KUBECONFIG, PATH and PULUMI_* of it."""
    return exports(addons.folder)
