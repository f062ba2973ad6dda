"""What a live cluster says of the objects of a preview: the types of `cluster.facts` and `cluster.drift`, under the name that the review knows them by."""

from __future__ import annotations

from trainform.cluster.drift import Drift
from trainform.cluster.facts import (
    NO_HOLDERS,
    AppliedObject,
    AskedJob,
    LiveClusterQueue,
    LiveFacts,
    LiveJob,
    LiveKueue,
    LiveNode,
    LiveQueue,
    LiveQuota,
    LiveRange,
)

__all__ = [
    "NO_HOLDERS",
    "AppliedObject",
    "AskedJob",
    "Drift",
    "LiveClusterQueue",
    "LiveFacts",
    "LiveJob",
    "LiveKueue",
    "LiveNode",
    "LiveQueue",
    "LiveQuota",
    "LiveRange",
]
