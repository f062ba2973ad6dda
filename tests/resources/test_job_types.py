"""The types of job objects: a job that moves to another operator is replaced by its alias."""

from __future__ import annotations

from trainform.backends.table import BACKENDS, JOB_TYPES
from trainform.review.jobs import job_kinds


def test_every_kind_of_job_of_every_operator_has_an_alias() -> None:
    versions = {backend.API_VERSION.partition("/")[0]: backend.API_VERSION for backend in BACKENDS.values()}
    kinds = (kind.split("/") for kind in job_kinds())
    assert {*JOB_TYPES} == {f"{versions[group]}:{kind}" for group, kind in kinds}
