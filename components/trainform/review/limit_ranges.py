"""What a namespace's LimitRanges make of pods: amounts for containers that say none, and pods that are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import structs

from trainform.cluster.amounts import Amounts, amounts_of
from trainform.cluster.facts import LiveRange
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template, resource_amounts
from trainform.review.verdicts import Names, Verdict, shortage

CONTAINERS = ("initContainers", "containers")


def with_defaults(template: Template, ranges: Iterable[LiveRange]) -> Template:
    """The pods as the API server makes them: a request that is missing is the limit, or else the range's."""
    items = [item for _, item in _items(ranges, "Container")]
    if not items:
        return template
    filled = {field: [_filled(each, items) for each in mappings(template.spec.get(field))] for field in CONTAINERS}
    return structs.replace(template, body={**template.body, "spec": {**template.spec, **filled}})


def _filled(container: dict[str, Any], items: list[Mapping[str, Any]]) -> dict[str, Any]:
    defaults, requested = ({}, {})  # type: dict[str, Any], dict[str, Any]
    for item in reversed(items):  # the first one counts
        defaults |= mapping(item.get("default"))
        requested |= mapping(item.get("defaultRequest"))
    limits, requests = (resource_amounts(container, field) for field in ("limits", "requests"))
    made = {"limits": {**defaults, **limits}, "requests": {**requested, **limits, **requests}}
    return {**container, "resources": {**mapping(container.get("resources")), **made}}


def as_limits(template: Template) -> Template:
    """The pods with their limits in the place of their requests, to be summed in the same way."""
    limited = {
        field: [
            {**each, "resources": {"requests": resource_amounts(each, "limits")}}
            for each in mappings(template.spec.get(field))
        ]
        for field in CONTAINERS
    }
    return structs.replace(template, body={**template.body, "spec": {**template.spec, **limited, "resources": {}}})


def refused(template: Template, ranges: Iterable[LiveRange], names: Names) -> Iterator[Verdict]:
    """What a range refuses of the pods, which have its defaults already."""
    for found, item in _items(ranges, "Container"):
        for where, container in template.named_containers():
            asked = {field: amounts_of(resource_amounts(container, field)) for field in ("requests", "limits")}
            whose = f"the container {where.rpartition('.')[2]} of {template.role}"
            yield from _outside(found, item, "a container", whose, asked, names)
    for found, item in _items(ranges, "Pod"):
        limited = as_limits(template)
        asked = {
            "requests": {name: template.pod_request(name) for name in template.resources()},
            "limits": {name: limited.pod_request(name) for name in limited.resources()},
        }
        yield from _outside(found, item, "a pod", f"a pod of {template.role}", asked, names)


def _outside(
    found: LiveRange, item: Mapping[str, Any], of: str, whose: str, asked: Mapping[str, Amounts], names: Names
) -> Iterator[Verdict]:
    allows = f"The LimitRange {found.name} of the namespace {found.namespace} allows {of}"
    for name, most in sorted(amounts_of(item.get("max")).items()):
        given = [amounts[name] for amounts in asked.values() if name in amounts]
        if name not in asked["limits"]:
            yield Verdict("never", f"{allows} at most {names.amount(name, most)}, and {whose} has no limit of it.")
        elif max(given) > most:
            said = f"{allows} at most {names.amount(name, most)}, and {whose} has {names.amount(name, max(given))}."
            yield Verdict("never", said, (shortage(name, max(given), most, (), names.of(name)),))
    for name, least in sorted(amounts_of(item.get("min")).items()):
        given = [amounts[name] for amounts in asked.values() if name in amounts]
        if name not in asked["requests"] or min(given) < least:
            has = "no request of it" if name not in asked["requests"] else names.amount(name, min(given))
            yield Verdict("never", f"{allows} no less than {names.amount(name, least)}, and {whose} has {has}.")


def _items(ranges: Iterable[LiveRange], kind: str) -> Iterator[tuple[LiveRange, Mapping[str, Any]]]:
    return ((found, item) for found in ranges for item in found.items if item.get("type") == kind)
