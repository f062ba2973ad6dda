"""The kubeconfig of a sandbox. It contains its certificates, so that it can be copied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from trainform.defaults import SANDBOX_CONTEXT
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.folder import encoded, write_private
from trainform.local.sandbox.ports import LOOPBACK


def server_url(port: int) -> str:
    """Return the URL of the API server."""
    return f"https://{LOOPBACK}:{port}"


def kubeconfig(
    server: str, authority: Path, certificate: Path, key: Path, name: str = SANDBOX_CONTEXT
) -> dict[str, Any]:
    """Return a kubeconfig with one context, cluster and user of this name."""
    user = {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority-data": encoded(authority)}}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
        "current-context": name,
    }


def write_kubeconfig(path: Path, port: int, certificates: Certificates, aliases: Sequence[str] = ()) -> None:
    """Write a kubeconfig with the context `trainform-sandbox`, and one more context for each alias.

    Cluster and user are named after the aliases, so that other files in KUBECONFIG keep their own.
    """
    name = "-".join((SANDBOX_CONTEXT, *dict.fromkeys(aliases)))
    content = kubeconfig(server_url(port), certificates.authority, certificates.client, certificates.client_key, name)
    (context,) = content["contexts"]
    content["contexts"] = [{**context, "name": each} for each in dict.fromkeys((SANDBOX_CONTEXT, *aliases))]
    content["current-context"] = SANDBOX_CONTEXT
    write_private(path, yaml.safe_dump(content, sort_keys=False).encode())
