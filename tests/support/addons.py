"""A sandbox with add-ons: one for the whole run, for all tests with the fixture `addons`.

`addons` is the sandbox (folder, kubeconfig, address), `addons_exports` the variables with which `pulumi` works on it.
It has every add-on where a test of `make proof` runs, else those of `make test`. Its nodes are like those of the
environment `dev`, but more. The first test that asks builds what is missing and waits for the start; each test takes a
namespace of its own.
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
from trainform.local.sandbox.settings import settings_from_environment
from trainform.local.toolchain.ensure import ensure
from trainform.spec.load import load_environment

ROOT = Path(__file__).parents[2]
FOLDER = pytest.StashKey[Path]()
OF_TEST = ("trainer", "jobset")  # as in the Makefile: what is built before `make test`
NODES = 40  # in each pool: enough for all teaching experiments of every operator at once


@pytest.fixture(scope="session")
def addons(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Yield a sandbox with the real controllers of add-ons. It is stopped after its tests, since an idle sandbox needs
    processor time."""
    folder = request.config.stash[FOLDER] = tmp_path_factory.mktemp("sandbox") / "addons"
    settings = settings_from_environment(load_environment("dev", ROOT).or_raise(), folder)
    pools = tuple(structs.replace(pool, count=NODES) for pool in settings.pools)
    asking = [item for item in request.session.items if "addons" in getattr(item, "fixturenames", ())]
    names = ADDONS if any(place(item) == "proof" for item in asking) else OF_TEST
    yield up(structs.replace(settings, pools=pools, addons=tuple(names)), ensure())
    down(folder)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """The folders of its tests are several, so that no scope of pytest's ends with the last of them."""
    if nextitem is not None and scope_of(item.nodeid) != scope_of(nextitem.nodeid) and FOLDER in item.config.stash:
        down(item.config.stash[FOLDER])
        del item.config.stash[FOLDER]


@pytest.fixture(scope="session")
def addons_exports(addons: Sandbox) -> dict[str, str]:
    """Return the sandbox's KUBECONFIG, PATH and PULUMI_*."""
    return exports(addons.folder)
