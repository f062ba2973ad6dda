"""Record the state that `test_upgrades` previews: `python -m tests.engine.upgrades.record`.

It belongs to the release whose stacks must outlive the next ones: record anew after a release, or where what is
rendered has changed on purpose, so that a new revision of the job is right. Never to make a renamed resource pass: that
needs an alias.
"""

from __future__ import annotations

import json
import re
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.engine.live import Live
from tests.engine.upgrades.recorded import STATE, recorded_project
from tests.support.repository import ROOT
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.control import down, up
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.settings import settings_from_environment
from trainform.local.toolchain.ensure import ensure, environment
from trainform.spec.load import load_environment

# What nobody else would have, and what nobody may have.
_FORBIDDEN = (
    re.escape(str(ROOT)), re.escape(sys.prefix), rf"\b{re.escape(socket.gethostname())}\b",
    r"file://", r"project:///", r"\b127\.0\.0\.1\b", r"\blocalhost\b", r"-----BEGIN",
)  # fmt: skip


def main() -> None:
    """Bring the job up on a control plane of its own, and write its state."""
    toolchain = ensure()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder) / "cluster"
        sandbox = up(settings_from_environment(load_environment("dev", ROOT).or_raise(), cluster), toolchain)
        live = Live(sandbox.url, Certificates(Layout(cluster).pki))
        try:
            exports = {**environment(toolchain.pulumi), "KUBECONFIG": str(sandbox.kubeconfig)}
            with recorded_project(Path(folder) / "project", exports, live) as (project, stack):
                project.up(stack)
                exported = json.loads(project.pulumi("stack", "export", "-s", stack).succeeded())
                STATE.write_text(scrubbed(exported, folder), encoding="utf-8")
                project.destroy(stack)
        finally:
            live.close()
            down(cluster)


def scrubbed(state: dict[str, Any], folder: str) -> str:
    """Return the state without what only says who set a field, and which lines of code registered a resource; fails
    where it would give away this machine or a secret."""
    for resource in state["deployment"]["resources"]:
        resource.get("outputs", {}).get("metadata", {}).pop("managedFields", None)
        for trace in ("stackTrace", "sourcePosition"):
            resource.pop(trace, None)
    text = json.dumps(state, indent=1) + "\n"
    found = [match[0] for pattern in (re.escape(folder), *_FORBIDDEN) for match in re.finditer(pattern, text)]
    if found:
        raise SystemExit(f"the state holds {', '.join(sorted(set(found)))}")
    return text


if __name__ == "__main__":
    main()
