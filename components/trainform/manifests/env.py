"""The `env` of containers.

Some controllers append variables, such as MASTER_ADDR, to every container, and the last entry of a name wins. The value
of the plan or the user is then in TRAINFORM_KEPT_MASTER_ADDR, references `$(MASTER_ADDR)` lead to it, and the command
begins with `env MASTER_ADDR=$(TRAINFORM_KEPT_MASTER_ADDR)`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Required, TypedDict

from msgspec import Struct, structs

from trainform import defaults
from trainform.plan.model import Group, RolePlan
from trainform.plan.variables import REPLICA_INDEX, RESERVED_PREFIX, references, replaced
from trainform.spec.roles import EnvSource

KEPT_PREFIX = f"{RESERVED_PREFIX}KEPT_"


class Value(TypedDict, total=False):
    """The value of a variable: a text, or where the kubelet finds it."""

    value: str
    valueFrom: Mapping[str, Any]


class Variable(Value):
    """An entry of `env`."""

    name: Required[str]


class PodConventions(Struct, frozen=True, dict=True):
    """The dependence of a pod template on the operator whose controller makes the pods.

    index_label: the label in which each pod has its index in its group. index_variable: the variable in which the
    operator's own scripts expect that index; None if there is none. appended: variables that the controller appends to
    every container, so that they replace the values in the template. expected: variables that the operator's scripts
    expect and that the controller does not set, each with the source of its value. computed: those of the appended
    variables that the launch script computes. container, ports: the operator's names for the main container and for
    ports, by the port's purpose. draws_ports: the controller chooses the port numbers, so the template has none.
    spared: those of the appended variables that the controller appends to no container of a role, by role.
    job_deadline: the job object has the longest time of the run, so the pods have none.
    """

    index_label: str
    index_variable: str | None = None
    appended: frozenset[str] = frozenset()
    expected: Mapping[str, dict[str, Any]] = {}
    computed: frozenset[str] = frozenset()
    container: str = defaults.MAIN_CONTAINER
    ports: Mapping[str, str] = {}
    draws_ports: bool = False
    spared: Mapping[str, frozenset[str]] = {}
    job_deadline: bool = False

    def of(self, role: RolePlan) -> PodConventions:
        """Return the same for the pods of one role. If the image's own ENTRYPOINT starts them, no command restores
        variables: the operator's have the values of the plan, and `refusals` reports those of the user."""
        if not role.command:
            return structs.replace(self, appended=frozenset(), computed=frozenset(), spared={})
        spared = self.spared.get(role.name)
        return structs.replace(self, appended=self.appended - spared, spared={}) if spared else self

    @functools.cached_property
    def expected_env(self) -> list[Variable]:
        """Return `expected` as entries of `env`. They are cached since a job may have a template for each replica, and
        each template has them."""
        return [{"name": name, "valueFrom": source} for name, source in self.expected.items()]


def in_order(env: list[Variable]) -> list[Variable]:
    """Return the entries, each behind those that its value refers to: Kubernetes puts in the values of variables that
    stand before. They cannot be ordered in a file, where the plan's variables come before the experiment's, and these
    before a role's. Variables that refer to each other in a circle stay as they are."""
    if not any("$(" in entry.get("value", "") for entry in env):
        return env
    entries = {entry["name"]: entry for entry in env}
    begun: set[str] = set()
    placed: list[Variable] = []

    def place(name: str) -> None:
        if name in entries and name not in begun:
            begun.add(name)
            for other in references(entries[name].get("value", "")):
                place(other)
            placed.append(entries[name])

    for name in entries:
        place(name)
    return placed


def container_env(role: RolePlan, group: Group, conventions: PodConventions) -> list[Variable]:
    """Return the `env` of the group's main container: the plan's and the user's variables, the ports that the pod
    opens, and its index."""
    names = {variable.name for variable in role.env}
    appended = conventions.appended & names
    env: list[Variable] = [
        {"name": _kept_name(variable.name, conventions), **env_value(_own_value(variable.value, appended))}
        for variable in role.env
    ]
    if role.launched and not conventions.draws_ports:
        env += [
            {"name": f"{RESERVED_PREFIX}{port.name.upper()}_PORT", "value": str(port.number)} for port in group.ports
        ]
    if role.launched or role.in_first_pod:
        env += [{"name": REPLICA_INDEX, **_index(group, conventions)}]
    if conventions.index_variable is not None and conventions.index_variable not in names:
        env += [{"name": conventions.index_variable, **_index(group, conventions)}]
    env += [entry for entry in conventions.expected_env if entry["name"] not in names]
    return in_order(env)


def env_prefix(names: Collection[str], conventions: PodConventions, launched: bool = False) -> list[str]:
    """Return the `env` command in front of a container's command, which restores variables that the operator
    overwrites; empty if there are none.

    names: all variables that the plan or the user sets. launched: if the command is a launch script, the variables that
    it computes are unset, since the script would keep the operator's values.
    """
    restored = [name for name in dict.fromkeys(names) if name in conventions.appended]
    words = [f"{name}=$({_kept_name(name, conventions)})" for name in restored]
    if launched:
        words = [word for name in sorted(conventions.computed.difference(names)) for word in ("-u", name)] + words
    return ["env", *words] if words else []


def expand_own_refs(words: Iterable[str], names: Iterable[str], conventions: PodConventions) -> list[str]:
    """Return the words of a command in which each `$(NAME)` of the given names expands to the value of the plan or the
    user, not to the operator's."""
    overwritten = conventions.appended.intersection(names)
    return [_own_references(word, overwritten) for word in words]


def _own_references(text: str, names: Collection[str]) -> str:
    def own_reference(found: re.Match[str]) -> str:
        return f"$({KEPT_PREFIX}{found['name']})" if found["name"] in names else found[0]

    return "".join(replaced(text, own_reference))


def _own_value(value: str | EnvSource, names: Collection[str]) -> str | EnvSource:
    return _own_references(value, names) if isinstance(value, str) else value


def _kept_name(name: str, conventions: PodConventions) -> str:
    return f"{KEPT_PREFIX}{name}" if name in conventions.appended else name


def env_value(value: str | EnvSource) -> Value:
    """Return the fields of an entry of `env` besides its name."""
    if isinstance(value, str):
        # the API server drops an empty value, and Pulumi would show a change at every preview
        return {"value": value} if value else {}
    if value.secret is not None:
        return {"valueFrom": {"secretKeyRef": {"name": value.secret.name, "key": value.secret.key}}}
    if value.config_map is not None:
        return {"valueFrom": {"configMapKeyRef": {"name": value.config_map.name, "key": value.config_map.key}}}
    return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": value.field}}}


def _index(group: Group, conventions: PodConventions) -> Value:
    """Return the value of the replica's index: from the operator's label, or as text if the replica has a template of
    its own."""
    if group.index is not None:
        return {"value": str(group.index)}
    path = f"metadata.labels['{conventions.index_label}']"
    return {"valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def override_env(
    env: list[Variable], init_env: dict[str, str | EnvSource], conventions: PodConventions
) -> list[Variable]:
    """Return the `env` of an init container: the main container's, with the init container's own variables in place of
    those of the same name."""
    names = [*init_env, *(entry["name"].removeprefix(KEPT_PREFIX) for entry in env)]
    appended = conventions.appended.intersection(names)
    overrides = {_kept_name(name, conventions): _own_value(value, appended) for name, value in init_env.items()}
    return in_order(
        [
            *(entry for entry in env if entry["name"] not in overrides),
            *(Variable(name=name, **env_value(value)) for name, value in overrides.items()),
        ]
    )
