"""Sandboxes that several files of tests share, each started by the first test that asks and stopped after the last.

`addons` is a sandbox (folder, kubeconfig, address) with the controllers of add-ons, `addons_exports` the variables with
which `pulumi` works on it. It has every add-on where a test of `make proof` runs, else those of `make test`. Its nodes
are like those of the environment `dev`, but more. `real_sandbox` has two real nodes, and the add-ons that a test names:
`@pytest.mark.needs("jobset")`. Each test takes another namespace or other names.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from tests.support.scheduling import scope_of
from tests.support.selection import place
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.sandbox.control import Sandbox, down, up
from trainform.local.sandbox.exports import exports
from trainform.local.sandbox.settings import NodePool, SandboxSettings, settings_from_environment
from trainform.local.toolchain.ensure import ensure
from trainform.spec.load import load_environment

ROOT = Path(__file__).parents[2]
FOLDERS = pytest.StashKey[list[Path]]()
OF_TEST = ("trainer", "jobset")  # as in the Makefile: what is built before `make test`
NODES = 40  # in each pool: enough for all teaching experiments of every operator at once
REAL_POOL = NodePool("cpu", 2, {"cpu": "8", "memory": "4Gi", "pods": "110", "ephemeral-storage": "1Ti"})
SLOW_SECONDS = 600  # real nodes on cgroup v2 (`tools.cgroup_v2`) take minutes


def _asking(request: pytest.FixtureRequest, fixture: str) -> list[pytest.Item]:
    return [item for item in request.session.items if fixture in getattr(item, "fixturenames", ())]


def _settings(request: pytest.FixtureRequest, folder: Path) -> SandboxSettings:
    """Return the settings that `dev` needs, in a folder that is stopped after the last test of the scope."""
    request.config.stash.setdefault(FOLDERS, []).append(folder)
    return settings_from_environment(load_environment("dev", ROOT).or_raise(), folder)


@pytest.fixture(scope="session")
def addons(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Yield a sandbox with the real controllers of add-ons."""
    settings = _settings(request, tmp_path_factory.mktemp("sandbox") / "addons")
    pools = tuple(structs.replace(pool, count=NODES) for pool in settings.pools)
    names = ADDONS if any(place(item) == "proof" for item in _asking(request, "addons")) else OF_TEST
    yield up(structs.replace(settings, pools=pools, addons=tuple(names)), ensure())
    down(settings.folder)


@pytest.fixture(scope="session")
def real_sandbox(
    real_nodes: None, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Sandbox]:
    """Yield a sandbox with two real nodes."""
    settings = _settings(request, tmp_path_factory.mktemp("sandbox") / "real")
    marks = [mark for item in _asking(request, "real_sandbox") for mark in item.iter_markers("needs")]
    addons = tuple(sorted({name for mark in marks for name in mark.args}))
    try:
        settings = structs.replace(settings, pools=(REAL_POOL,), addons=addons, real=2)
        yield up(settings, ensure(), timeout=SLOW_SECONDS)
    finally:
        down(settings.folder)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Stop the sandboxes of a scope after its last test, since an idle one needs processor time. The folders of its
    tests are several, so that no scope of pytest's ends there."""
    if nextitem is not None and scope_of(item.nodeid) != scope_of(nextitem.nodeid):
        for folder in item.config.stash.get(FOLDERS, []):
            down(folder)
        item.config.stash[FOLDERS] = []


@pytest.fixture(scope="session")
def addons_exports(addons: Sandbox) -> dict[str, str]:
    """Return the sandbox's KUBECONFIG, PATH and PULUMI_*."""
    return exports(addons.folder)
