"""The kubeconfig of a sandbox. It contains its certificates, so that it can be copied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from trainform.defaults import SANDBOX_CONTEXT
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.folder import encoded, write_private
from trainform.local.sandbox.ports import LOOPBACK


def server_url(port: int) -> str:
    """Return the URL of the API server."""
    return f"https://{LOOPBACK}:{port}"


def write_kubeconfig(path: Path, port: int, certificates: Certificates, aliases: Sequence[str] = ()) -> None:
    """Write a kubeconfig with the context `trainform-sandbox`, and one more context for each alias.

    Cluster and user are named after the aliases, so that other files in KUBECONFIG keep their own.
    """
    name = "-".join((SANDBOX_CONTEXT, *dict.fromkeys(aliases)))
    cluster = {"server": server_url(port), "certificate-authority-data": encoded(certificates.authority)}
    user = {
        "client-certificate-data": encoded(certificates.client),
        "client-key-data": encoded(certificates.client_key),
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [
            {"name": context, "context": {"cluster": name, "user": name, "namespace": "default"}}
            for context in dict.fromkeys((SANDBOX_CONTEXT, *aliases))
        ],
        "current-context": SANDBOX_CONTEXT,
    }
    write_private(path, yaml.safe_dump(content, sort_keys=False).encode())
