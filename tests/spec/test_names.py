"""Patterns of names against what Kubernetes 1.34 accepts (`apimachinery/pkg/util/validation`)."""

from __future__ import annotations

import pytest

from trainform.spec import names

LONG = "a" * 63
CASES = {
    names.SERVICE_LABEL: (["sdxl-lora", "a", "a0", "a--b"], ["", "0a", "-a", "a-", "A", "a.b", "a_b", "ä"]),
    names.LABEL: (["0", "worker-1", "9-lives", LONG], ["", "Worker", "a_b", "-", "a."]),
    names.SUBDOMAIN: (["a.b-c.0", "ceph-ssd"], ["", ".a", "a..b", "a.", "A.b"]),
    names.QUALIFIED: (
        ["team", "A.b_c-9", "example.com/team", "d" * 253 + "/" + LONG],
        ["", "/team", "example.com/", "Example.com/team", "a/b/c", "-a", LONG + "a", "d" * 254 + "/n"],
    ),
    names.LABEL_VALUE: (["", "a", "A.b_c-9", LONG], ["-a", "a b", "vision/lab", LONG + "a", "日本"]),
    names.ENV_NAME: (["_", "A", "a9_"], ["", "9A", "A-B", "A.B", "A=B"]),
    names.FIELD_OF_VARIABLE: (
        ["metadata.name", "spec.nodeName", "status.hostIPs", "status.podIPs", "metadata.labels['a']",
            "metadata.annotations['example.com/A_b']"],
        ["", "metadata.labels", "metadata.labels['']", "metadata.labels['a/b/c']", "metadata.labels[a]",
            "metadata.name['a']", "status.podIP\n", "status.podIPss", "spec"],
    ),
    names.RESOURCE: (
        ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "nvidia.com/gpu", "rdma/hca", "baidu.com/a800_80g_cgpu",
            "d" * 244 + "/n"],
        ["", "gpu", "pods", "storage", "hugepages-", "hugepages-2X", "requests.nvidia.com/gpu",
            "kubernetes.io/batch-cpu",
         "node.kubernetes.io/x", "d" * 245 + "/n", "Nvidia.com/gpu"],
    ),
    names.EXTENDED: (["nvidia.com/gpu", "rdma/hca"], ["cpu", "hugepages-2Mi", "kubernetes.io/x", "requests.a/b"]),
    names.ABSOLUTE_PATH: (
        ["/mnt", "/mnt/", "/mnt/a.b", "/mnt/..a", "/mnt/a..", "/.cache", "/日本"],
        ["", "/", "mnt", "/mnt//a", "//mnt", "/..", "/mnt/..", "/mnt/../a", "/mnt/./a", "/a b", "/a:b", "/a\0", "/a\nb",
            "/a\x7f", "/a\x9b", "/a\u2028"],
    ),
    names.FILE_PATH: (
        ["/etc/nccl.conf", "/a", "/.bashrc", "/opt/日本/..a"],
        ["", "/", "/etc/", "a", "./a", "/..", "/a/../b", "/a b", "/a:b", "/a\nb"],
    ),
    names.RELATIVE_PATH: (["runs", "runs/first", "..a", "a..b", ".", "with space"],
        ["", "/runs", "..", "../a", "a/..", "a/../b", "a\nb", "a\x7f", "a\x9b"]),
    names.ENTRY_KEY: (["key", ".hidden", "a.b_c-D", "-"], ["", ".", "..", "..data", "a/b", "a b"]),
    names.PORT_RANGE: (["1-65535"], ["1", "1-", "a-b", "1-655350"]),
    names.CURRENCY: (["USD"], ["usd", "US", "USDT"]),
    names.CAPABILITY: (["IPC_LOCK"], ["ipc_lock", "_A", ""]),
    names.COMMIT: (["0123456789" * 4, "f" * 64], ["", "f" * 39, "f" * 41, "F" * 40, "main", "0x" + "f" * 38]),
    # test_repositories.py has all forms of addresses
    names.REPOSITORY: (["https://git.example.com/vision/sdxl.git"], ["", "a/b", "ext::touch", "https://host/a b"]),
    names.EXIT_CODES: (["1", "42", "128-255"], ["0", "-1", "1000", "1-", "a", "1,2"]),
    names.RESTART: (
        ["never", "on-failure", "all-when-evicted", "1 times", "1 time", "3 times", "999999999 times"],
        ["", "Never", "0 times", "times", "-1 times", "3", "3  times", "1000000000 times", "three times", "all"],
    ),
    names.FINGERPRINT: (["0" * 16, "1a2b3c4d" * 2],
        ["", "1a2b3c4d" * 2 + "5", "1a2b3c4d", "1A2B3C4D" * 2, "1a2b3c4d" * 2 + "\n"]),
    names.UID: (
        ["0f8fad5b-d9cb-469f-a165-70867728950e", "00000000-0000-0000-0000-000000000000"],
        ["", "0F8FAD5B-D9CB-469F-A165-70867728950E", "0f8fad5bd9cb469fa16570867728950e",
            "0f8fad5b-d9cb-469f-a165-70867728950", "prod"],
    ),
    names.RULE: (["TF-IMG-1", "TF-COST-12"], ["", "IMG-1", "TF-IMG-0", "TF-img-1", "TF-IMG", "TF-IMG-1\n"]),
    names.REGISTRY: (["registry.example.com", "localhost:5000/ai", "registry.example.com:5000"],
        ["", "https//x?", "-a", "https://a.example.com", "a.example.com/b:1.0"]),
    names.MIRROR: (
        ["registry.example.com", "docker.io/library", "localhost/ai", "127.0.0.1:5000/a__b/c", "mirror:5000"],
        ["", "pytorch", "registry/ai", "docker.io/", "docker.io/a:1", "docker.io/A", "docker.io//a",
            "https://docker.io", "-a.b"],
    ),
    names.IMAGE: (
        ["python", "a/b:tag", "registry.example.com:5000/a/b@sha256:" + "0" * 64, "a:1@sha256:" + "f" * 64, "a__b",
            "a--b"],
        ["", ":tag", "a:", "a b", "a/B", "a//b", "a/../b", "a@sha256:00", "a:t:t", "https://a/b", "a:" + "t" * 129,
            "a___b"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("pattern", CASES)
def test_patterns(pattern: str) -> None:
    right, wrong = CASES[pattern]
    assert [text for text in right if not names.matches(pattern, text)] == []
    assert [text for text in wrong if names.matches(pattern, text)] == []
    assert not any(names.matches(pattern, f"{text}\n") for text in right), "Python's $ matches before a line feed"


def test_every_pattern_has_a_meaning() -> None:
    """A message shows what is meant, never the pattern itself."""
    assert names.MEANING.keys() == CASES.keys()


def test_longest_label() -> None:
    assert names.is_label(LONG)
    assert not names.is_label(LONG + "a")
