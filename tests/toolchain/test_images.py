"""Manifests, platforms, and files in layers. The search from the top layer is compared with unpacking all layers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainform.toolchain.images import (
    ABSENT,
    FOUND,
    LAYERS,
    REMOVED,
    Blob,
    Challenge,
    check_platform,
    configuration_of,
    is_index,
    layers_of,
    manifest_for,
    normalized,
    parse_challenge,
    parse_document,
    search_layer,
)

ONE, TWO, THREE = ("1" * 64, "2" * 64, "3" * 64)


def _entry(digest: str, system: str, machine: str, **more: str) -> dict[str, Any]:
    return {"digest": f"sha256:{digest}", "size": 7, "platform": {"os": system, "architecture": machine, **more}}


INDEX = {
    "manifests": [
        {"digest": f"sha256:{THREE}", "size": 1},
        _entry(THREE, "unknown", "unknown"),
        _entry(ONE, "linux", "amd64"),
        _entry(TWO, "linux", "arm64", variant="v8"),
    ]
}


def _layer(digest: str, kind: str = LAYERS[0]) -> dict[str, Any]:
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": 5}


MANIFEST = {"config": {"digest": f"sha256:{ONE}", "size": 3}, "layers": [_layer(TWO), _layer(THREE, LAYERS[1])]}


def test_an_index_has_a_manifest_for_each_platform() -> None:
    assert is_index(INDEX)
    assert manifest_for(INDEX, "linux", "amd64") == Blob(ONE, 7)
    assert manifest_for(INDEX, "linux", "arm64") == Blob(TWO, 7)
    with pytest.raises(ValueError, match="has no image for linux on riscv64"):
        manifest_for(INDEX, "linux", "riscv64")


def test_a_manifest_has_a_configuration_and_layers_top_first() -> None:
    assert not is_index(MANIFEST)
    assert configuration_of(MANIFEST) == Blob(ONE, 3)
    assert layers_of(MANIFEST) == (Blob(THREE, 5), Blob(TWO, 5))


def test_an_image_of_another_platform_is_refused() -> None:
    check_platform({"os": "linux", "architecture": "arm64"}, "linux", "arm64")
    with pytest.raises(ValueError, match="is an image for linux on amd64, not for linux on arm64"):
        check_platform({"os": "linux", "architecture": "amd64"}, "linux", "arm64")


def test_a_layer_that_cannot_be_read_is_reported_by_its_kind() -> None:
    kind = "application/vnd.oci.image.layer.v1.tar+zstd"
    with pytest.raises(ValueError, match=r"has layers of the kind application/vnd\.oci\.image\.layer\.v1\.tar\+zstd"):
        layers_of({"layers": [_layer(ONE), _layer(TWO, kind)]})


@pytest.mark.parametrize("digest", ["", "sha256:", f"sha512:{ONE}", f"sha256:{ONE[1:]}", "sha256:../../etc/passwd", 1])
def test_an_invalid_digest_is_refused(digest: object) -> None:
    with pytest.raises(ValueError, match=r"is not an image manifest: (a digest is not a SHA-256|digest is missing)"):
        configuration_of({"config": {"digest": digest, "size": 1}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["manifests", "platform", "config", "layers", "digest", "size", "os"]), inner)
    ),
)


@given(JSON)
def test_any_json_is_parsed_or_raises_value_error(value: object) -> None:
    """A `ValueError`, and nothing else, is what the caller turns into a message."""
    for act in (
        lambda document: manifest_for(document, "linux", "amd64") if is_index(document) else configuration_of(document),
        layers_of,
        lambda document: check_platform(document, "linux", "amd64"),
    ):
        try:
            act(parse_document(json.dumps(value).encode()))
        except ValueError:
            continue


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe", b"[1]", b'"x"'])
def test_a_body_that_is_not_a_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"is not (a )?JSON"):
        parse_document(body)


def test_a_bearer_challenge_is_parsed() -> None:
    header = 'Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:a/b:pull"'
    assert parse_challenge(header) == Challenge(
        "https://auth.docker.io/token", "registry.docker.io", "repository:a/b:pull"
    )
    assert parse_challenge('bearer realm="https://x/token"') == Challenge("https://x/token", "", "")


@pytest.mark.parametrize("header", ["", 'Basic realm="x"', "Bearer", 'Bearer service="x"', 'Bearer realm=""'])
def test_other_challenges_are_ignored(header: str) -> None:
    assert parse_challenge(header) is None


@pytest.mark.parametrize(
    ("entries", "result"),
    [
        ([("usr/", True), ("usr/bin/", True), ("usr/bin/kwok", False)], FOUND),
        ([("./usr/bin/kwok", False)], FOUND),
        ([("/usr/bin/kwok", False)], FOUND),
        ([("usr/", True), ("usr/bin/", True)], ABSENT),
        ([("usr/bin/kwok-2", False), ("opt/usr/bin/kwok", False)], ABSENT),
        ([("usr/bin/.wh.kwok", False)], REMOVED),
        ([("usr/bin/.wh.kwok-2", False)], ABSENT),
        ([("usr/.wh.bin", False)], REMOVED),
        ([(".wh.usr", False)], REMOVED),
        ([("usr/bin/.wh..wh..opq", False)], REMOVED),
        ([("usr/.wh..wh..opq", False)], REMOVED),
        ([(".wh..wh..opq", False)], REMOVED),
        ([("usr/lib/.wh..wh..opq", False)], ABSENT),
        ([("usr/bin/.wh.kwok", False), ("usr/bin/kwok", False)], FOUND),
        ([("usr/bin/kwok", False), ("usr/bin/.wh..wh..opq", False)], FOUND),
        ([("usr/bin", False)], REMOVED),
        ([("usr/bin/kwok/", True)], REMOVED),
    ],
)
def test_search_layer_finds_removes_or_ignores_a_file(entries: list[tuple[str, bool]], result: str) -> None:
    assert search_layer(entries, "usr/bin/kwok") == result


PATHS = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join)
# What a layer does to a path: a file, a folder, its removal, or the removal of everything in it.
CHANGES = st.dictionaries(PATHS, st.sampled_from(["file", "folder", "remove", "opaque"]), max_size=4)


def _entries(changes: dict[str, str]) -> list[tuple[str, bool]]:
    rows = []
    for path, change in changes.items():
        parent, _, name = path.rpartition("/")
        names = {"remove": f"{parent}/.wh.{name}".lstrip("/"), "opaque": f"{path}/.wh..wh..opq"}
        rows.append((names.get(change, path), change == "folder"))
    return rows


def _apply(tree: dict[str, str], layer: int, changes: dict[str, str]) -> None:
    """As whoever unpacks all layers does it: first what is removed of the lower ones, then what this one has."""

    def cut(path: str, itself: bool) -> None:
        for there in [there for there in tree if (itself and there == path) or there.startswith(f"{path}/")]:
            del tree[there]

    for path, change in changes.items():
        if change in ("remove", "opaque"):
            cut(path, itself=change == "remove")
    for path, change in changes.items():
        parts = path.split("/")
        folders = ["/".join(parts[:end]) for end in range(1, len(parts))]  # every entry lies in folders, also a mark
        folders += [path] if change in ("folder", "opaque") else []
        for folder in folders:
            if tree.get(folder, "folder") != "folder":
                cut(folder, itself=True)
            tree[folder] = "folder"
        if change == "file":
            cut(path, itself=True)
            tree[path] = f"file {layer}"


def _consistent(changes: dict[str, str]) -> bool:
    """A layer has nothing below a file of its own, and removes nothing that it has."""
    return not any(
        below.startswith(f"{path}/") and change in ("file", "remove")
        for path, change in changes.items()
        for below in changes
    )


@given(st.lists(CHANGES.filter(_consistent), max_size=5), PATHS)
def test_searching_layers_from_the_top_equals_unpacking_them_from_the_bottom(
    layers: list[dict[str, str]], wanted: str
) -> None:
    tree: dict[str, str] = {}
    for number, changes in enumerate(layers):
        _apply(tree, number, changes)
    found = ""
    for number in reversed(range(len(layers))):
        result = search_layer(_entries(layers[number]), wanted)
        if result == FOUND:
            found = f"file {number}"
        if result != ABSENT:
            break
    expected = tree.get(wanted, "")
    assert found == (expected if expected.startswith("file") else "")


@pytest.mark.parametrize("name", ["usr/bin/x", "./usr/bin/x", "/usr/bin/x", "usr//bin/x/", "usr/./bin/x"])
def test_normalized_names_are_equal(name: str) -> None:
    assert normalized(name) == "usr/bin/x"
