"""The `env` of containers."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from trainform.catalog import defaults
from trainform.plan.env import REPLICA_INDEX, RESERVED_PREFIX
from trainform.plan.model import Group, RolePlan
from trainform.spec.roles import EnvSource

KEPT_PREFIX = f"{RESERVED_PREFIX}KEPT_"
_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^()]*)\)")  # as Kubernetes expands them; `$$(NAME)` stays `$(NAME)`


@dataclasses.dataclass(frozen=True)
class Operator:
    """What a template must know of the operator: the label in which it gives each pod its index in the group, the variable in which
    its own scripts expect that index (None: there is none), variables that it appends to every container, over what stands there, and
    variables that its scripts expect and that it does not set itself, each with the source of its value. `computed`: which of the appended
    ones the launch script works out itself. `container` and `ports`: what it calls the main container and a port, by the port's purpose, where
    that is not for us to choose. `draws_ports`: it chooses the numbers itself, so that no pod can be told which it opens."""

    index_label: str
    index_variable: str | None = None
    appended: frozenset[str] = frozenset()
    expected: Mapping[str, dict[str, Any]] = dataclasses.field(default_factory=dict)
    computed: frozenset[str] = frozenset()
    container: str = defaults.MAIN_CONTAINER
    ports: Mapping[str, str] = dataclasses.field(default_factory=dict)
    draws_ports: bool = False

    @functools.cached_property
    def expected_env(self) -> list[dict[str, Any]]:
        """`expected` as entries of `env`, made once: with ports of their own, replicas have templates of their own, and each has them."""
        return [{"name": name, "valueFrom": source} for name, source in self.expected.items()]

    @property
    def index_field(self) -> str:
        """Where the downward API finds the index."""
        return f"metadata.labels['{self.index_label}']"


def container_env(role: RolePlan, group: Group, operator: Operator) -> list[dict[str, Any]]:
    """Every variable of the group's containers: the plan's and the user's, what each pod opens, its index."""
    said = {variable.name for variable in role.env}
    appended = operator.appended & said
    env = [
        {"name": _kept_name(variable.name, operator), **env_value(_own_value(variable.value, appended))}
        for variable in role.env
    ]
    if role.launched:
        if not operator.draws_ports:
            env += [{"name": port_variable(port.name), "value": str(port.number)} for port in group.ports]
        env += [{"name": REPLICA_INDEX, **_index(group, operator)}]
    if operator.index_variable is not None and operator.index_variable not in said:
        env += [{"name": operator.index_variable, **_index(group, operator)}]
    env += [entry for entry in operator.expected_env if entry["name"] not in said]
    return env


def port_variable(purpose: str) -> str:
    """The variable that tells a pod which port it opens itself: `TRAINFORM_SSH_PORT`."""
    return f"{RESERVED_PREFIX}{purpose.upper()}_PORT"


def kept_words(said: Collection[str], operator: Operator, launched: bool = False) -> list[str]:
    """What comes before a command where the operator would overwrite variables that plan or user say: `env` sets them again.
    `launched`: a launch script follows; what it computes is taken away, since it keeps what is set."""
    names = [name for name in dict.fromkeys(said) if name in operator.appended]
    words = [f"{name}=$({_kept_name(name, operator)})" for name in names]
    if launched:
        words = [word for name in sorted(operator.computed.difference(said)) for word in ("-u", name)] + words
    return ["env", *words] if words else []


def own_words(words: Iterable[str], said: Iterable[str], operator: Operator) -> list[str]:
    """Words of a command in which `$(NAME)` stands for what plan or user say, and not for what the operator appends."""
    names = operator.appended.intersection(said)
    return [_own_references(word, names) for word in words]


def _own_references(text: str, names: Collection[str]) -> str:
    def own(found: re.Match[str]) -> str:
        return f"$({KEPT_PREFIX}{found['name']})" if found["name"] in names else found[0]

    return _REFERENCE.sub(own, text)


def _own_value(value: str | EnvSource, names: Collection[str]) -> str | EnvSource:
    return _own_references(value, names) if isinstance(value, str) else value


def _kept_name(name: str, operator: Operator) -> str:
    return f"{KEPT_PREFIX}{name}" if name in operator.appended else name


def env_value(value: str | EnvSource) -> dict[str, Any]:
    """The rest of an entry of `env`, after its name."""
    if isinstance(value, str):
        # the API server leaves an empty value out, and Pulumi would see a change at every preview
        return {"value": value} if value else {}
    if value.secret is not None:
        return {"valueFrom": {"secretKeyRef": {"name": value.secret.name, "key": value.secret.key}}}
    if value.config_map is not None:
        return {"valueFrom": {"configMapKeyRef": {"name": value.config_map.name, "key": value.config_map.key}}}
    return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": value.field}}}


def _index(group: Group, operator: Operator) -> dict[str, Any]:
    """The replica's index: from the operator's label, or as text where the replica has a template of its own."""
    if group.index is not None:
        return {"value": str(group.index)}
    return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": operator.index_field}}}


def override_env(
    env: list[dict[str, Any]], further: dict[str, str | EnvSource], operator: Operator
) -> list[dict[str, Any]]:
    """The container's env for an init container, with its own variables in place of those of the same name."""
    said = [*further, *(entry["name"].removeprefix(KEPT_PREFIX) for entry in env)]
    appended = operator.appended.intersection(said)
    named = {_kept_name(name, operator): _own_value(value, appended) for name, value in further.items()}
    return [
        *(entry for entry in env if entry["name"] not in named),
        *({"name": name, **env_value(value)} for name, value in named.items()),
    ]
