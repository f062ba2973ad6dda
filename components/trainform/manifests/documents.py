"""Manifests as YAML documents for people to read."""

from __future__ import annotations

import json
from collections.abc import Iterable

import yaml

from trainform.manifests.manifest import Manifest
from trainform.spec.libyaml import Dumper


class ReadableDumper(Dumper):
    """Writes scripts as literal blocks."""


def _text(dumper: Dumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


ReadableDumper.add_representer(str, _text)


def to_yaml(manifests: Iterable[Manifest]) -> str:
    """One YAML document per object, in the given order."""
    # without shared parts, which YAML would write as aliases: requests and limits are written twice
    bodies = json.loads(json.dumps([manifest.body for manifest in manifests]))
    return yaml.dump_all(bodies, Dumper=ReadableDumper, sort_keys=False, width=1000, explicit_start=True)
