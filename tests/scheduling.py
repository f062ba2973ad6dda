"""How tests are shared out where several run at a time (`-n 2`)."""

from __future__ import annotations

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

# One process runs these, so that there is one sandbox with every add-on.
ON_ADDONS = frozenset(
    [
        "tests/engine/test_admission.py",
        "tests/engine/test_backends.py",
        "tests/engine/test_named_runtimes.py",
        "tests/engine/test_rehearsals_of_operators.py",
        "tests/engine/test_updates_of_operators.py",
        "tests/sandbox/test_addons.py",
    ]
)
# And one these, which share the sandbox of that folder.
ON_SANDBOX = frozenset(f"tests/sandbox/{name}.py" for name in ("test_down", "test_exports", "test_up"))
SCOPES = {**dict.fromkeys(ON_ADDONS, "add-ons"), **dict.fromkeys(ON_SANDBOX, "sandbox")}


class Scheduling(LoadScopeScheduling):  # type: ignore[misc] # without types of its own
    """A file goes to one process, since its tests share what they made."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return SCOPES.get(file, file)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling:
    """Called by pytest-xdist."""
    return Scheduling(config, log)
