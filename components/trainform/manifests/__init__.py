"""Kinds that Kubernetes itself knows, as plain dicts; every backend uses them."""
