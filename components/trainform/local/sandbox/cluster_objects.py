"""The objects that every sandbox holds: CRDs, Volcano's webhooks, and the storage classes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.webhooks import ADMISSIONS, apply_configuration, webhook_configuration

PROVISIONER = "sandbox.trainform.dev"
DEFAULT_CLASS = "sandbox"
TOUCHED = "sandbox.trainform.dev/seen"
PARALLEL_REQUESTS = 8

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
QUEUES = "scheduling.volcano.sh/v1beta1/queues"
DEFAULT_QUEUE = f"/apis/{QUEUES}/default"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"  # without it no pod can be created


def crd_name(path: Path) -> str:
    """Return the CRD's name `<plural>.<group>` from the name of its generated file, `<group>_<plural>.yaml`."""
    group, plural = path.stem.split("_", 1)
    return f"{plural}.{group}"


def apply_crds(api: Api, files: Iterable[Path]) -> None:
    """Apply the CRDs of Volcano and of the add-ons."""
    for item in api.get(_CRDS)["items"]:
        # Kubernetes (1.34) serves a CRD after a change of it; if it was killed before, this annotation is that change.
        if not _is_established(item):
            api.merge(f"{_CRDS}/{item['metadata']['name']}", {"metadata": {"annotations": {TOUCHED: str(time.time())}}})
    # The API server works for seconds on a large CRD, and answers 504 if a request takes longer than 34 s.
    with ThreadPoolExecutor(min(PARALLEL_REQUESTS, os.cpu_count() or PARALLEL_REQUESTS)) as pool:
        list(pool.map(lambda path: api.apply(f"{_CRDS}/{crd_name(path)}", path.read_bytes()), files))


def crds_established(api: Api, files: Iterable[Path]) -> bool:
    """Return True if the API server serves the CRDs of all files."""
    established = {item["metadata"]["name"] for item in api.get(_CRDS)["items"] if _is_established(item)}
    return established >= {crd_name(path) for path in files}


def _is_established(crd: Mapping[str, Any]) -> bool:
    # Null in the generated files, and in the object until the server has processed it.
    conditions = crd["status"]["conditions"] if "status" in crd else None
    return conditions is not None and any(
        condition["type"] == "Established" and condition["status"] == "True" for condition in conditions
    )


def apply_webhooks(api: Api, port: int, certificates: Certificates) -> None:
    """Register Volcano's webhooks at the address of the webhook manager."""
    for admission in ADMISSIONS:
        apply_configuration(api, webhook_configuration(admission, port, certificates.authority))


def apply_storage_classes(api: Api, names: Iterable[str]) -> None:
    """Create the default class and the classes `names`, and delete other classes of the sandbox."""
    expected = dict.fromkeys((DEFAULT_CLASS, *names))
    for name in expected:
        api.apply(f"{_CLASSES}/{name}", _storage_class(name))
    for item in api.get(_CLASSES)["items"]:
        name = item["metadata"]["name"]
        if item["provisioner"] == PROVISIONER and name not in expected:
            api.delete(f"{_CLASSES}/{name}")


def _storage_class(name: str) -> dict[str, Any]:
    default = "true" if name == DEFAULT_CLASS else "false"
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": default}},
        "provisioner": PROVISIONER,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "Immediate",
        "allowVolumeExpansion": True,
    }


def webhooks_admit(api: Api, path: str, kind: str, spec: Mapping[str, Any]) -> bool:
    """Return True if the webhooks admit an object in a dry run. `path`: its collection, without `/apis/`."""
    group, version = path.split("/")[:2]
    manifest = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": "trainform-probe"}, "spec": spec}
    return bool(api.create(f"/apis/{path}?dryRun=All", manifest))
