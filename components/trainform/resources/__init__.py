"""Rendered manifests become registered resources of Pulumi."""

__all__ = ["components", "platform", "ssh_identity", "training_job"]
