"""The fields of Kubernetes' own kinds and types, each once: written as `manifests/served/notation.py` says."""

from __future__ import annotations

from trainform.manifests.served.definitions.containers import CONTAINERS
from trainform.manifests.served.definitions.objects import KINDS, METADATA, SERVICES
from trainform.manifests.served.definitions.pods import PODS
from trainform.manifests.served.definitions.volumes import VOLUMES
from trainform.manifests.served.notation import Table

__all__ = ["KINDS", "TYPES"]

TYPES: Table = {**METADATA, **PODS, **CONTAINERS, **VOLUMES, **SERVICES}
