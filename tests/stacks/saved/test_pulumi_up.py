"""`pulumi up`, and where the states of stacks are kept. A program replaces Pulumi."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.stacks.saved.pulumi_up import place_of_backend, run_up


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://app.pulumi.com/anna", "https://app.pulumi.com/ben"),
        ("file:///srv/states?metadata=skip", "file:///srv/states/"),
        ("s3://states/ai?region=eu-west-1", "s3://states/ai?region=eu-west-1&awssdk=v2"),
        ("s3://key:word@states/ai", "s3://states/ai"),
    ],
)
def test_one_place_by_several_addresses(one: str, other: str) -> None:
    assert place_of_backend(one) == place_of_backend(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://app.pulumi.com/anna", "https://pulumi.example.com/anna"),
        ("file:///srv/states", "file:///home/anna/states"),
        ("s3://states/ai", "s3://states/vision"),
        ("s3://states?endpoint=minio:9000", "s3://states"),
        ("s3://states", "gs://states"),
    ],
)
def test_other_places(one: str, other: str) -> None:
    assert place_of_backend(one) != place_of_backend(other)


def test_no_credentials_are_told() -> None:
    shown = place_of_backend("https://anna:t0ken@pulumi.example.com/anna?token=t0ken")
    assert shown == "https://pulumi.example.com"
    assert "t0ken" not in place_of_backend("s3://states?endpoint=http://anna:t0ken@minio:9000")


@pytest.mark.parametrize(("prints_data", "stream"), [(False, "out"), (True, "err")])
def test_the_output_of_up_is_shown(
    pulumi: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], prints_data: bool, stream: str
) -> None:
    pulumi.write_text('#!/bin/sh\necho "$@"; exit 7\n')
    assert run_up("bert.dev", tmp_path, prints_data=prints_data) == 7
    shown = getattr(capfd.readouterr(), stream)
    assert shown == "up --yes --skip-preview --non-interactive -s bert.dev\n"
