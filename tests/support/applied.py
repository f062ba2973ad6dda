"""Objects as a cluster has them after an `up`, with the notes of who has written which field."""

from __future__ import annotations

import copy
from typing import Any

from trainform.manifests.manifest import Manifest

EDITED = "2026-11-22T14:02:00Z"
NOTHING_OF = ("apiVersion", "kind", "metadata")


def entry(manager: str, fields: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "time": EDITED, "fieldsV1": fields, **more}


def set_of(body: Any) -> dict[str, Any]:
    """Return the fields of an object as the server would note them, lists as a whole."""
    return {f"f:{key}": set_of(value) if isinstance(value, dict) else {} for key, value in body.items()}


def applied(manifest: Manifest, *entries: dict[str, Any]) -> dict[str, Any]:
    """Return the object as the cluster has it after `up`, with these writes of others."""
    body = copy.deepcopy(manifest.body)
    metadata = {field: body["metadata"][field] for field in ("labels", "annotations") if field in body["metadata"]}
    fields = set_of(
        {"metadata": metadata, **{field: value for field, value in body.items() if field not in NOTHING_OF}}
    )
    ours = entry("trainform", fields, operation="Apply", time="2026-11-20T08:00:00Z")
    body["metadata"]["managedFields"] = [ours, *entries]
    body["metadata"] |= {
        "uid": "1",
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": "2026-11-20T08:00:00Z",
    }
    body["status"] = {"loadBalancer": {}}
    return body
