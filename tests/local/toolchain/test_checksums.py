"""Published checksums as projects write them, and Go's hash of a module, compared with that of Go."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.local.toolchain.internet import module
from trainform.local.toolchain.sources import published_sha256

DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
NAMES = st.from_regex(r"[a-z][a-z0-9._-]{0,20}", fullmatch=True)
ONE = "4d5f3101daa534e45ccaf3eec8d21c19b7222db377bcfd5e5a9144155238c105"


@given(DIGESTS, st.sampled_from(["", "\n", "\r\n"]))
def test_a_text_with_one_hash_is_the_hash_of_the_file(digest: str, end: str) -> None:
    """The binaries of Kubernetes have such texts."""
    assert published_sha256(f"{digest}{end}", "kube-apiserver") == digest
    assert published_sha256(f"{digest.upper()}{end}", "kube-apiserver") == digest


@given(st.dictionaries(NAMES, DIGESTS, min_size=1), st.sampled_from(["  ", " *", "  ./", "\t"]), st.data())
def test_a_list_of_hashes_is_read_by_file_name(rows: dict[str, str], between: str, data: st.DataObject) -> None:
    """`sha256sum`, `shasum` and GoReleaser write such lists."""
    text = "".join(f"{digest}{between}{name}\n" for name, digest in rows.items())
    name = data.draw(st.sampled_from(sorted(rows)))
    assert published_sha256(text, name) == rows[name]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no checksum for etcd.tar.gz"),
        (f"{ONE}  other.tar.gz\n", "has no checksum for etcd.tar.gz"),
        (f"{ONE}  etcd.tar.gz.sig\n", "has no checksum for etcd.tar.gz"),
        (f"{ONE[:-1]}  etcd.tar.gz\n", "has no checksum for etcd.tar.gz"),
        (f"{ONE}{ONE}  etcd.tar.gz\n", "has no checksum for etcd.tar.gz"),
        (f"{ONE}  etcd.tar.gz\n{ONE[::-1]}  etcd.tar.gz\n", "has several checksums for etcd.tar.gz"),
    ],
)
def test_other_texts_are_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        published_sha256(text, "etcd.tar.gz")


def test_module_hash_equals_that_of_go(tmp_path: Path) -> None:
    name, version = "example.com/Tiny", "1.2.3"
    files = {
        "go.mod": f"module {name}\n".encode(),
        "b/Z.yaml": b"z",
        "b/a-ä.yaml": b"\xff" * 3000,
        "B.yaml": b"",
        "a": b"1",
    }
    content, found = module(name, version, files)
    served = tmp_path / "proxy" / "example.com" / "!tiny" / "@v"
    served.mkdir(parents=True)
    (served / f"v{version}.zip").write_bytes(content)
    (served / f"v{version}.mod").write_bytes(files["go.mod"])
    (served / f"v{version}.info").write_text(json.dumps({"Version": f"v{version}"}))
    environment = {
        **os.environ, "GOPROXY": f"file://{tmp_path / 'proxy'}", "GOMODCACHE": str(tmp_path / "modules"),
        "GONOSUMDB": "*", "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local",
    }  # fmt: skip
    command = ["go", "mod", "download", "-json", f"{name}@v{version}"]
    answer = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert json.loads(answer.stdout).get("Sum") == found, answer.stdout
