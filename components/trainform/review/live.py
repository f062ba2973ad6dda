"""What a live cluster says of the objects of a preview: the types of `cluster.facts`, under the name that the review knows them by."""

from __future__ import annotations

from trainform.cluster.facts import AppliedObject, AskedJob, Drift, LiveFacts, LiveJob, LiveNode, LiveQueue

__all__ = ["AppliedObject", "AskedJob", "Drift", "LiveFacts", "LiveJob", "LiveNode", "LiveQueue"]
