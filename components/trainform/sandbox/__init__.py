"""A real control plane on loopback with simulated nodes: the cluster for those who have none at hand."""

from __future__ import annotations
