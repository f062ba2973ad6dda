"""What puts back what was deployed. `tests/engine/test_drift.py` runs it."""

from __future__ import annotations

from typing import Any

from trainform.stacks.drift.report import commands
from trainform.stacks.drift.report_model import FieldDrift, ObjectDrift

UP = "pulumi up --refresh --skip-preview -s bert.dev"


def changed(kind: str, *fields: tuple[str, Any, Any], **more: Any) -> ObjectDrift:
    found = [FieldDrift(path=path, was=was, now=now) for path, was, now in fields]
    return ObjectDrift(**{"kind": kind, "name": "bert", "namespace": "ai", "state": "changed", "fields": found, **more})


def test_labels_of_ours_come_first() -> None:
    label = "metadata.labels.app.kubernetes.io/name"
    assert commands(
        [changed("Service", (label, "bert", None), ("metadata.labels.team", "vision", None))], "bert.dev"
    ) == [
        "kubectl label service bert -n ai --overwrite app.kubernetes.io/name=bert",
        UP,
    ]
    assert commands([changed("Queue", (label, "bert", "x"), namespace="")],
        "bert.dev")[0] == "kubectl label queue bert --overwrite app.kubernetes.io/name=bert"  # fmt: skip


def test_a_port_with_another_number_is_another_port() -> None:
    for field in ("port", "protocol"):
        assert commands([changed("Service", (f"spec.ports.ssh.{field}", 22, 23))],
            "bert.dev") == ["kubectl delete service bert -n ai", UP]  # fmt: skip
    assert commands([changed("Service", ("spec.ports.ssh.targetPort", 22, 23))], "bert.dev") == [UP]
