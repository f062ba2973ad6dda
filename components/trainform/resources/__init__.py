"""Rendered manifests become registered resources of Pulumi."""
