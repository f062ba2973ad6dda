"""The files of ConfigMap, Secret, downward API and projected volumes."""

from __future__ import annotations

import dataclasses
import io
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from trainform.local.rehearsal.kubelet.env import Sources, UnknownSourceError, value_of

DEFAULT_MODE = 0o644
GROUP_MAY_READ = 0o440  # what the kubelet adds to files of read-only volumes where the pod has an fsGroup


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file of root, or a folder if `data` is None. The path has no leading `/`."""

    path: str
    mode: int
    group: int = 0
    data: bytes | None = dataclasses.field(default=None, repr=False)


def volume_entries(sources: Sources, volume: dict[str, Any], group: int | None) -> Iterator[Entry]:
    """Yield the volume's files as the kubelet writes them. group: the pod's fsGroup. May raise UnknownSourceError."""
    for kind, read in _KINDS.items():
        if kind in volume:
            for entry in read(sources, volume[kind], volume[kind].get("defaultMode", DEFAULT_MODE)):
                if group is None:
                    yield entry
                else:
                    yield dataclasses.replace(entry, mode=entry.mode | GROUP_MAY_READ, group=group)


def _config_map(sources: Sources, reference: dict[str, Any], mode: int) -> Iterator[Entry]:
    data = sources.config_map(reference["name"], reference.get("optional", False))
    return _chosen(data, reference, f"ConfigMap {reference['name']}", mode)


def _secret(sources: Sources, reference: dict[str, Any], mode: int) -> Iterator[Entry]:
    name = reference["secretName"] if "secretName" in reference else reference["name"]
    data = sources.secret(name, reference.get("optional", False))
    return _chosen(data, reference, f"Secret {name}", mode)


def _downward(sources: Sources, reference: dict[str, Any], mode: int) -> Iterator[Entry]:
    for item in reference.get("items", []):
        if "fieldRef" not in item:
            raise UnknownSourceError(
                f"the file {item['path']} comes from no field of the pod", "rehearse without resourceFieldRef"
            )
        yield Entry(item["path"], item.get("mode", mode), data=sources.field(item["fieldRef"]["fieldPath"]).encode())


def _projected(sources: Sources, reference: dict[str, Any], mode: int) -> Iterator[Entry]:
    for source in reference.get("sources", []):
        for kind, read in _KINDS.items():
            if kind in source:
                yield from read(sources, source[kind], mode)


_KINDS: dict[str, Callable[[Sources, dict[str, Any], int], Iterator[Entry]]] = {
    "configMap": _config_map,
    "secret": _secret,
    "downwardAPI": _downward,
    "projected": _projected,
}
FILE_KINDS = frozenset(_KINDS)


def _chosen(data: Mapping[str, bytes], reference: dict[str, Any], name: str, mode: int) -> Iterator[Entry]:
    """Yield a file for each key, or, with `items`, a file for each item at the path that it gives."""
    items = reference.get("items")
    if items is None:
        yield from (Entry(key, mode, data=value) for key, value in data.items())
        return
    for item in items:
        value = value_of(data, item["key"], name, reference.get("optional", False))
        if value is not None:
            yield Entry(item["path"], item.get("mode", mode), data=value)


def archive(entries: Iterable[Entry]) -> bytes:
    """Return a tar archive of the entries, each with its mode and group."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.mode, info.gid = entry.mode, entry.group
            info.type = tarfile.DIRTYPE if entry.data is None else tarfile.REGTYPE
            data = b"" if entry.data is None else entry.data
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
