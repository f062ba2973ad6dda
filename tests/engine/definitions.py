"""What the API server says that it takes: its OpenAPI documents."""

from __future__ import annotations

import functools
from typing import Any

from tests.engine.live import Live
from tests.support.generated_patches import Schema

POD_TEMPLATE: Schema = {"$ref": "#/components/schemas/io.k8s.api.core.v1.PodTemplateSpec"}


class Definitions:
    """The schemas of kinds, as the live server has them."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._named: dict[str, Any] = {}

    def of(self, body: dict[str, Any]) -> Schema:
        """The schema of the body's kind."""
        group, _, version = body["apiVersion"].rpartition("/")
        identity = {"group": group, "version": version, "kind": body["kind"]}
        found = (
            each
            for each in self._document(body["apiVersion"]).values()
            if identity in each.get("x-kubernetes-group-version-kind", ())
        )
        return next(found)

    def resolve(self, schema: Schema) -> Schema:
        """The schema, with that to which it refers. The core's are read for pods."""
        self._document("v1")
        for each in (schema, *schema.get("allOf", ())):
            if "$ref" in each:
                return self.resolve({**self._named[each["$ref"].rpartition("/")[2]]})
        return schema

    @functools.cache  # noqa: B019 - one for the tests of a file
    def _document(self, api_version: str) -> dict[str, Any]:
        way = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        answer = self._live.request("GET", f"/openapi/v3/{way}")
        assert answer.status_code == 200, answer.text
        schemas: dict[str, Any] = answer.json()["components"]["schemas"]
        self._named |= schemas
        return schemas
