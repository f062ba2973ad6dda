"""Pulumi programs as a user would write them for the same objects, generated from the rendered manifests."""

from __future__ import annotations

import pprint
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

PROVIDER = "cluster"
FIELDS = ("metadata", "spec", "data", "immutable")


def write_program(folder: Path, name: str, program: str) -> None:
    """Write a project with one program, which uses the same Python environment."""
    definition = {
        "name": name,
        "runtime": {"name": "python", "options": {"toolchain": "pip", "virtualenv": sys.prefix}},
    }
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(definition, sort_keys=False))
    (folder / "__main__.py").write_text(program)


def typed_program(manifests: Iterable[Mapping[str, Any]], context: str) -> str:
    """Return a program as in the documentation of pulumi_kubernetes: a class for each built-in kind, CustomResource for
    the job."""
    lines = [
        "import pulumi",
        "import pulumi_kubernetes as k8s",
        "",
        f"cluster = k8s.Provider({PROVIDER!r}, context={context!r})",
        "before = []",
    ]
    for manifest in manifests:
        if "/" in manifest["apiVersion"]:
            kind = {"api_version": manifest["apiVersion"], "kind": manifest["kind"]}
            made = f"k8s.apiextensions.CustomResource({_call(manifest, kind)})"
        else:
            made = f"k8s.core.{manifest['apiVersion']}.{manifest['kind']}({_call(manifest, {})})"
        lines.append(f"before.append({made})")
    return "\n".join([*lines, ""])


def token_program(manifests: Iterable[Mapping[str, Any]], context: str) -> str:
    """Return a program that avoids the slow import of `core.v1`: every object is registered by its Pulumi token."""
    lines = [
        "import pulumi",
        "from importlib.metadata import version",
        "",
        'plugin = version("pulumi-kubernetes")',
        f"cluster = pulumi.ProviderResource('kubernetes', {PROVIDER!r}, {{'context': {context!r}}},",
        "    pulumi.ResourceOptions(version=plugin))",
        "before = []",
    ]
    for manifest in manifests:
        group = manifest["apiVersion"] if "/" in manifest["apiVersion"] else f"core/{manifest['apiVersion']}"
        token = f"kubernetes:{group}:{manifest['kind']}"
        lines.append(
            f"before.append(pulumi.CustomResource({token!r}, {_name(manifest)!r}, {_literal(dict(manifest))}, "
            "pulumi.ResourceOptions(provider=cluster, version=plugin, depends_on=list(before))))"
        )
    return "\n".join([*lines, ""])


def _call(manifest: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    fields = {**first, **{field: manifest[field] for field in FIELDS if field in manifest}}
    arguments = [repr(_name(manifest)), *(f"{field}={_literal(value)}" for field, value in fields.items())]
    return ", ".join([*arguments, "opts=pulumi.ResourceOptions(provider=cluster, depends_on=list(before))"])


def _name(manifest: Mapping[str, Any]) -> str:
    return f"{manifest['metadata']['name']}-{manifest['kind'].lower()}"


def _literal(value: Any) -> str:
    return pprint.pformat(value, width=120, sort_dicts=False)
