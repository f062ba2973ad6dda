"""The kubeconfig of a sandbox. It contains its certificates, so that it can be copied."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path

import yaml

from trainform import defaults
from trainform.sandbox.certificates import Certificates
from trainform.sandbox.folder import write_private
from trainform.sandbox.ports import LOOPBACK

CONTEXT = defaults.SANDBOX_CONTEXT


def server_url(port: int) -> str:
    """Return the URL of the API server."""
    return f"https://{LOOPBACK}:{port}"


def write_kubeconfig(path: Path, port: int, certificates: Certificates, aliases: Iterable[str] = ()) -> None:
    """Write a kubeconfig with the current context `trainform-sandbox`, and one more context of the same cluster for each alias."""
    cluster = {"server": server_url(port), "certificate-authority-data": _encoded(certificates.authority)}
    user = {
        "client-certificate-data": _encoded(certificates.client),
        "client-key-data": _encoded(certificates.client_key),
    }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": CONTEXT, "user": user}],
        "contexts": [
            {"name": name, "context": {"cluster": CONTEXT, "user": CONTEXT, "namespace": "default"}}
            for name in dict.fromkeys((CONTEXT, *aliases))
        ],
        "current-context": CONTEXT,
    }
    write_private(path, yaml.safe_dump(content, sort_keys=False).encode())


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
