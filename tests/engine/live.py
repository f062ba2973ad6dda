"""The live cluster as a test sees it: plain requests to the real API server."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from typing import Any, TypeVar

import httpx2

from trainform.local.sandbox.certificates import Certificates

Found = TypeVar("Found")

GROUPS = {
    "namespaces": "/api/v1",
    "services": "/api/v1",
    "configmaps": "/api/v1",
    "secrets": "/api/v1",
    "pods": "/api/v1",
    "persistentvolumeclaims": "/api/v1",
    "nodes": "/api/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "queues": "/apis/scheduling.volcano.sh/v1beta1",
    "podgroups": "/apis/scheduling.volcano.sh/v1beta1",
    "jobs": "/apis/batch.volcano.sh/v1alpha1",
    "pytorchjobs": "/apis/kubeflow.org/v1",
    "tfjobs": "/apis/kubeflow.org/v1",
    "mpijobs": "/apis/kubeflow.org/v2beta1",
    "jobsets": "/apis/jobset.x-k8s.io/v1alpha2",
    "trainjobs": "/apis/trainer.kubeflow.org/v1alpha1",
    "commands": "/apis/bus.volcano.sh/v1alpha1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}

PLURAL_ENDS = {"y": "ies", "s": "ses"}


class Live:
    """Reads and small changes. `close` it at the end."""

    def __init__(self, url: str, certificates: Certificates) -> None:
        tls = ssl.create_default_context(cafile=str(certificates.authority))
        tls.load_cert_chain(certificates.client, certificates.client_key)
        self._client = httpx2.Client(base_url=url, verify=tls, timeout=30.0)

    def close(self) -> None:
        """End its connections."""
        self._client.close()

    def request(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        kind: str = "application/json",
        user: str | None = None,
    ) -> httpx2.Response:
        """Any request with a body of this content type, as this user where one is named; the caller looks at the
        status."""
        headers = {"Content-Type": kind, **({} if user is None else {"Impersonate-User": user})}
        return self._client.request(method, path, json=body, headers=headers)

    def path(self, plural: str, namespace: str | None = None, name: str | None = None) -> str:
        """Return the REST path of a collection, or of an object in it."""
        parts = [GROUPS[plural], *(["namespaces", namespace] if namespace is not None else []), plural]
        return "/".join([*parts, *([name] if name is not None else [])])

    def find(self, plural: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """Return the object, None where it is not there."""
        response = self.request("GET", self.path(plural, namespace, name))
        assert response.status_code in (200, 404), response.text
        return response.json() if response.status_code == 200 else None

    def get(self, plural: str, name: str, namespace: str | None = None) -> dict[str, Any]:
        """Return the object."""
        found = self.find(plural, name, namespace)
        assert found is not None, f"no {plural}/{name}"
        return found

    def find_all(self, plural: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """Return all objects of a kind."""
        return self._items(self.path(plural, namespace))

    def names(self, plural: str, namespace: str | None = None) -> set[str]:
        """Names of all objects of a kind."""
        return {item["metadata"]["name"] for item in self.find_all(plural, namespace)}

    def create(self, plural: str, body: dict[str, Any], namespace: str | None = None) -> dict[str, Any]:
        """Make an object."""
        response = self.request("POST", self.path(plural, namespace), body)
        assert response.status_code == 201, response.text
        created: dict[str, Any] = response.json()
        return created

    def make_namespace(self, name: str, **labels: str) -> None:
        """Make a namespace, and wait for its account: the server refuses pods before a controller has made it."""
        metadata = {"name": name, "labels": labels}
        self.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until(lambda: self.request("GET", path).status_code == 200, f"the service account of {name}")

    def make(self, body: dict[str, Any], dry_run: bool = False) -> dict[str, Any]:
        """Return the object as the server keeps it, or would keep it; fails the test with the server's words where it
        does not. A field that the server does not know is an error, as it is when Pulumi applies an object."""
        parameters = f"fieldValidation=Strict{'&dryRun=All' if dry_run else ''}"
        response = self.request("POST", f"{_collection(body)}?{parameters}", body)
        assert response.status_code == 201, (body["kind"], response.text)
        kept: dict[str, Any] = response.json()
        return kept

    def find_like(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """Return all objects of the body's kind, in its namespace where it has one."""
        return self._items(_collection(body))

    def _items(self, path: str) -> list[dict[str, Any]]:
        response = self.request("GET", path)
        assert response.status_code == 200, response.text
        items: list[dict[str, Any]] = response.json()["items"]
        return items

    def remove(self, body: dict[str, Any]) -> None:
        """Delete the object of this body."""
        response = self.request("DELETE", f"{_collection(body)}/{body['metadata']['name']}")
        assert response.status_code in (200, 202, 404), response.text

    def delete(self, plural: str, name: str, namespace: str | None = None) -> None:
        """Delete an object."""
        response = self.request("DELETE", self.path(plural, namespace, name))
        assert response.status_code in (200, 202, 404), response.text

    def merge(self, path: str, patch: dict[str, Any], manager: str = "tests") -> None:
        """Change an object by a merge patch, as this manager of its fields."""
        kind = "application/merge-patch+json"
        response = self.request("PATCH", f"{path}?fieldManager={manager}", patch, kind)
        assert response.status_code == 200, response.text

    def report(self, pod: str, namespace: str, status: dict[str, Any]) -> None:
        """Merge into a pod's status, as its kubelet would say it."""
        self.merge(f"{self.path('pods', namespace, pod)}/status", {"status": status})

    def evict(self, pod: str, namespace: str) -> None:
        """Ask a pod to leave its node, as `kubectl drain` does."""
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": namespace}}
        response = self.request("POST", f"{self.path('pods', namespace, pod)}/eviction", body)
        assert response.status_code == 201, response.text

    def only_job(self, namespace: str) -> dict[str, Any]:
        """Return the one job of the namespace."""
        jobs = self.find_all("jobs", namespace)
        assert len(jobs) == 1, [job["metadata"]["name"] for job in jobs]
        return jobs[0]

    def running_pods(self, namespace: str, count: int) -> list[dict[str, Any]]:
        """Return the pods of the namespace, once `count` of them run."""

        def running() -> list[dict[str, Any]] | None:
            pods = [pod for pod in self.find_all("pods", namespace) if pod["status"].get("phase") == "Running"]
            return pods if len(pods) == count else None

        return until(running, f"{count} running pods in {namespace}")

    def wait_for_free_nodes(self) -> None:
        """Return once no pod is left: namespaces of earlier tests are deleted, but their pods need a moment to end."""
        until(lambda: not self.find_all("pods"), "the pods of earlier tests to be gone")


def _collection(body: dict[str, Any]) -> str:
    """Return the REST path of the objects of this kind, in the body's namespace."""
    version, namespace = body["apiVersion"], body["metadata"].get("namespace")
    kind = body["kind"].lower()
    plural = next(
        (kind.removesuffix(end) + ends for end, ends in PLURAL_ENDS.items() if kind.endswith(end)), f"{kind}s"
    )
    group = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return "/".join([group, *(["namespaces", namespace] if namespace is not None else []), plural])


def until(condition: Callable[[], Found | None], what: str, seconds: float = 240.0) -> Found:
    """Return the condition's first answer that is neither None nor False; fails the test where none comes in time."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found is not None and found is not False:
            return found
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.25)  # each look costs the server, the test and a core that others need
