"""How tests are distributed to several processes (`-n auto`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# Scopes: a process runs the tests of one scope without a break, since they share a sandbox. A file that is not listed
# is its own scope.
ADDONS, REAL_NODES = "add-ons", "real nodes"
SCOPES = {
    ADDONS: (
        "tests/engine/test_admission.py",
        "tests/engine/test_backends.py",
        "tests/engine/test_mpi_operator.py",
        "tests/engine/test_capacity_of_kueue.py",
        "tests/engine/test_waiting_in_kueue.py",
        "tests/engine/test_drift.py",
        "tests/engine/test_failed_ups.py",
        "tests/engine/test_late_webhooks.py",
        "tests/engine/test_lives.py",
        "tests/engine/test_named_runtimes.py",
        "tests/engine/test_outcomes.py",
        "tests/engine/test_plain_jobs.py",
        "tests/engine/test_rehearsals_of_operators.py",
        "tests/engine/test_rights.py",
        "tests/engine/test_status.py",
        "tests/engine/test_suspend.py",
        "tests/engine/test_updates_of_operators.py",
        "tests/engine/test_wrong_patches.py",
        "tests/local/sandbox/test_addons.py",
    ),
    "engine": (
        "tests/engine/test_changes.py",
        "tests/engine/test_claims.py",
        "tests/engine/test_components.py",
        "tests/engine/test_contract.py",
        "tests/engine/test_doctor.py",
        "tests/engine/test_documents.py",
        "tests/engine/test_environment_stack.py",
        "tests/engine/test_failure.py",
        "tests/engine/test_interruptions.py",
        "tests/engine/test_life.py",
        "tests/engine/test_new_environment.py",
        "tests/engine/test_promotion.py",
        "tests/engine/test_refusals.py",
        "tests/engine/test_sizes.py",
        "tests/engine/test_ssh_identity.py",
        "tests/engine/test_stack_configs.py",
    ),
    REAL_NODES: (
        "tests/engine/test_real_logs.py",
        "tests/local/sandbox/real/test_blocked_jobs.py",
        "tests/local/sandbox/real/test_pods.py",
        "tests/local/sandbox/real/test_waiting.py",
    ),
    # with its own sandbox: it takes as long as all of `engine`
    "rehearsals": ("tests/engine/test_rehearsals.py",),
    "sandbox": (
        "tests/local/sandbox/test_down.py",
        "tests/local/sandbox/test_exports.py",
        "tests/local/sandbox/test_up.py",
    ),
}
LONG = (
    "tests/wheel/",
    "tests/engine/test_demo.py",
    "tests/engine/test_real_rehearsals.py",
    "tests/engine/test_pasted_documents.py",
    "tests/engine/",
    "tests/local/sandbox/real/",
    "tests/local/rehearsal/",
)
SCOPE_OF = {file: scope for scope, files in SCOPES.items() for file in files}


def scope_of(nodeid: str) -> str:
    """Return the scope of a test."""
    file = nodeid.partition("::")[0]
    return SCOPE_OF.get(file, file)


class Scheduling(LoadScopeScheduling):  # type: ignore[misc] # without types of its own
    """A scope is run by one process, since its tests share objects."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def misplaced(item: pytest.Item) -> str | None:
    """Say what is wrong with the place of a test that uses a sandbox of several files: it stops after the tests of its
    scope."""
    for fixture, scope in (("addons", ADDONS), ("real_sandbox", REAL_NODES)):
        if fixture in getattr(item, "fixturenames", ()) and scope_of(item.nodeid) != scope:
            return f"uses the sandbox with {scope}: name its file in SCOPES of {Path(__file__).name}, under `{scope}`"
    return None


def order(items: list[pytest.Item]) -> None:
    """Return the scopes in order: first those of the table, then the longest files, since a long scope that begins last
    runs alone."""
    files = sorted({item.location[0] for item in items}, key=lambda file: (_place(file), file))
    places = {scope: place for place, scope in enumerate([*SCOPES, *files])}
    items.sort(key=lambda item: places[scope_of(item.nodeid)])


def _place(file: str) -> int:
    return next((place for place, start in enumerate(LONG) if file.startswith(start)), len(LONG))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """Called by pytest-xdist."""
    config.option.loadscopereorder = (
        False  # otherwise the scopes with most tests would be first, which are the quickest
    )
    return Scheduling(config, log)
