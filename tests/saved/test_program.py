"""The files and variables that count between a review and its apply."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.saved.program import CONFIGS, PACKS, policy_files, program_files, provider_variables

FILES = {
    "Pulumi.yaml": "name: vision\nruntime: python\nmain: infra\n",
    "requirements.txt": "trainform\n",
    "infra/__main__.py": "import trainform\n",
    "infra/parts/queues.py": "",
    "stacks/experiments/bert.yaml": "name: bert\n",
    "stacks/Pulumi.bert.dev.yaml": "config: {}\n",
    "vision/__init__.py": "",
    "vision/jobs.py": "",
    "README.md": "# Vision\n",
    "data/corpus.py": "",
    ".venv/lib/os.py": "",
    "infra/__pycache__/parts.py": "",
    "infra/venv/pyvenv.cfg": "",
    "infra/venv/lib.py": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_modules_and_what_says_which_packages_there_are(root: Path) -> None:
    assert [name for name, _ in program_files(root)] == [
        "Pulumi.yaml",
        "infra/__main__.py",
        "infra/parts/queues.py",
        "requirements.txt",
        "vision/__init__.py",
        "vision/jobs.py",
    ]


# --- policy packs

PACK_FILES = {
    "vision/policy/PulumiPolicy.yaml": "runtime: python\n",
    "vision/policy/__main__.py": "import trainform\n",
    "vision/policy/__pycache__/__main__.pyc": "",
    "vision/policy/.git/HEAD": "",
    "vision/policy.json": "{}\n",
    "calendar/index.ts": "",
    "calendar/node_modules/a/index.js": "",
}


def test_the_files_of_the_packs_and_their_config(tmp_path: Path) -> None:
    for name, text in PACK_FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    named = {PACKS: f"policy, {tmp_path}/calendar", CONFIGS: "policy.json"}
    assert policy_files(named, tmp_path / "vision") == [
        ("../calendar/index.ts", b""),
        ("policy.json", b"{}\n"),
        ("policy/PulumiPolicy.yaml", b"runtime: python\n"),
        ("policy/__main__.py", b"import trainform\n"),
    ]


def test_no_pack_is_named(tmp_path: Path) -> None:
    assert policy_files({}, tmp_path) == []
    assert policy_files({PACKS: "nowhere"}, tmp_path) == []


# --- variables


@pytest.mark.parametrize(
    "name",
    [
        "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY",
        "PULUMI_K8S_ENABLE_PATCH_FORCE",
        "PULUMI_K8S_DELETE_UNREACHABLE",
        "PULUMI_KUBERNETES_MANAGED_BY_LABEL",
    ],
)
def test_what_changes_how_objects_are_written_or_deleted(name: str) -> None:
    assert provider_variables({name: "true", "PATH": "/bin"}) == {name: "true"}


@pytest.mark.parametrize(
    "name",
    ["PULUMI_K8S_CLIENT_QPS", "PULUMI_K8S_SUPPRESS_DEPRECATION_WARNINGS", "PULUMI_K8S_HELM_DRIVER", "KUBECONFIG"],
)
def test_what_changes_no_object_does_not(name: str) -> None:
    assert provider_variables({name: "1"}) == {}
