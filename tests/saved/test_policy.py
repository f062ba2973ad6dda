"""Which files are of the policy packs that judge a preview."""

from __future__ import annotations

from pathlib import Path

from trainform.saved.program import CONFIGS, PACKS, policy_files

FILES = {
    "vision/policy/PulumiPolicy.yaml": "runtime: python\n",
    "vision/policy/__main__.py": "import trainform\n",
    "vision/policy/__pycache__/__main__.pyc": "",
    "vision/policy/.git/HEAD": "",
    "vision/policy.json": "{}\n",
    "calendar/index.ts": "",
    "calendar/node_modules/a/index.js": "",
}


def test_the_files_of_the_packs_and_their_config(tmp_path: Path) -> None:
    for name, text in FILES.items():
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
