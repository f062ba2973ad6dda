"""What the API server checks in objects that are no pods beside single fields: what belongs together, by type.

Source: Kubernetes 1.34.4, `pkg/apis/core/validation`. What depends on the cluster (its families of addresses) is left to the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainform.manifests.served.mistake import Mistake
from trainform.manifests.shapes import mappings

_Value = dict[str, Any]


def _service(spec: _Value) -> Iterator[Mistake]:
    ports = mappings(spec.get("ports"))
    seen: dict[tuple[str, object], str] = {}
    for index, port in enumerate(ports):
        where = f"ports.{port['name']}" if all("name" in each for each in ports) else f"ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            yield Mistake(where, None, "a Service with several ports has a name for each", "add `name`", ("ports",))
        if port.get("nodePort") and spec.get("type", "ClusterIP") == "ClusterIP":
            reason = "the Service is for the cluster's own pods, and has no ports of nodes"
            yield Mistake(f"{where}.nodePort", port["nodePort"], reason, "remove it", ("type",))
        for what in (("name", port.get("name")), (port.get("protocol", "TCP"), port.get("port"))):
            if None not in what and what in seen:
                reason = f"the port {seen[what]} has the same {what[0]} {what[1]}"
                yield Mistake(where, None, reason, "choose another one", ("ports",))
            seen.setdefault(what, str(port.get("name", index)))
    if "sessionAffinityConfig" in spec and spec.get("sessionAffinity", "None") == "None":
        fix = "write `sessionAffinity: ClientIP`, or remove it"
        yield Mistake(
            "sessionAffinityConfig", None, "the field needs sessionAffinity: ClientIP", fix, ("sessionAffinity",)
        )
    for index, family in enumerate(spec.get("ipFamilies", [])):
        if not family:
            yield Mistake(f"ipFamilies[{index}]", family, "a family of addresses has a name", "write IPv4 or IPv6")
    if len(set(spec.get("ipFamilies", []))) < len(spec.get("ipFamilies", [])):
        yield Mistake("ipFamilies", None, "a family of addresses is there twice", "name each once")


CHECKS: Mapping[str, Callable[[_Value], Iterator[Mistake]]] = {"ServiceSpec": _service}
"""As the `CHECKS` of pods."""
