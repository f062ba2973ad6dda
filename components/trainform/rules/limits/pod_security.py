"""Kubernetes' Pod Security Standards as a table of controls, with the environment's exceptions.

The controls are those of k8s.io/pod-security-admission 0.34.4, which the API server of the sandbox runs;
`tests/engine/test_pod_security.py` compares the results. The controls of the node's network and of host ports are the
rule TF-NET-1, which holds at every level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform.errors import list_names, shorten
from trainform.manifests.pods import ASKING, HANDLERS
from trainform.manifests.templates import (
    APPARMOR_ANNOTATION,
    Place,
    Template,
    distinct,
    places,
    volume_sources,
    volume_type,
)
from trainform.rules.limits.rule import Finding, Judged
from trainform.spec.environment import Environment

USUAL_CAPABILITIES = (
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
    "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"
)  # fmt: skip
SAFE_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
SELINUX_TYPES = (None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
PROFILES = ("RuntimeDefault", "Localhost")
RESTRICTED_VOLUMES = (
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret"
)  # fmt: skip

REMOVE = "remove it, or ask the platform team for another limits.pod_security"
RUN_AS = "write `run_as: {user: 1000}` with the number of a user of the image, not 0"


class Openings(Struct, frozen=True):
    """Exceptions from the standards that the environment allows."""

    host_network: bool
    host_paths: tuple[str, ...]
    capabilities: tuple[str, ...]

    @staticmethod
    def of(environment: Environment) -> Openings:
        """Return the exceptions of an environment."""
        rdma, limits = environment.rdma, environment.limits
        granted = () if rdma is None else tuple(rdma.capabilities)
        return Openings(limits.host_network, tuple(limits.host_paths), granted)


Places = Callable[[Mapping[str, Any]], Iterator[Place]]
Allowed = Callable[[Place, Openings], bool]
"""Returns True if the value of a place is allowed; None stands for no value."""


class Control(Struct, frozen=True):
    """One control of the standards, or a part of one, with its name in Kubernetes."""

    name: str
    looks_at: Places
    """Yields the places of a pod template that it judges."""
    allowed: Allowed
    reason: str
    fix: str | Callable[[Openings], str] = REMOVE
    replaces: str = ""
    """The control of `baseline` that it replaces."""

    def violations(self, body: Mapping[str, Any], openings: Openings) -> list[Place]:
        """Return the places of the pod template that violate the control, each once."""
        return distinct(place for place in self.looks_at(body) if not self.allowed(place, openings))


def _at(*paths: str) -> Places:
    """Return a function that yields every place of these paths."""
    return lambda body: (place for path in paths for place in places(body, path))


def _contexts(*fields: str) -> Places:
    """Return a function that yields fields of the security context of the pod and of each container."""
    return _at(*(f"{holder}.securityContext.{field}" for field in fields for holder in ("spec", "spec.*")))


def _effective(body: object, path: str) -> Iterator[Place]:
    """Yield a field of each container's security context, or of the pod's if the container does not set it; and that
    of the pod if it is set."""
    (of_pod,) = places(body, f"spec.securityContext.{path}")
    if of_pod.value is not None:
        yield of_pod
    for own in places(body, f"spec.*.securityContext.{path}"):
        yield of_pod if own.value is None else own


def _apparmor_annotations(body: Mapping[str, Any]) -> Iterator[Place]:
    for where, written in places(body, "metadata.annotations"):
        for key, value in written.items() if isinstance(written, dict) else ():
            if str(key).startswith(APPARMOR_ANNOTATION):
                yield Place(f"{where}.{key}", value)


def host_paths(body: object) -> Iterator[Place]:
    """Yield the node's path of each volume of type `hostPath`; None if it has none."""
    for where, source in places(body, "spec.volumes[].hostPath"):
        if source is not None:
            yield Place(f"{where}.path", source.get("path") if isinstance(source, dict) else source)


def _one_of(*values: object) -> Allowed:
    # a tuple, since the value of a place may have no hash
    return lambda place, openings: place.value in values


def _added(*usual: str) -> Allowed:
    return lambda place, openings: place.value in (*usual, *openings.capabilities)


def _usual_profile(place: Place, openings: Openings) -> bool:
    value = place.value
    return value in ("", "runtime/default") or (isinstance(value, str) and value.startswith("localhost/"))


def host_path_fix(allowed: Sequence[str]) -> str:
    """Return what to write instead of a path of the node that is not allowed."""
    below = f"write a path below {list_names(allowed, 5)}, " if allowed else ""
    return f"{below}use a claim, or ask the platform team for limits.host_paths"


def below_a_folder(path: object, folders: tuple[str, ...]) -> bool:
    """Return True if the path is one of the folders or below one. A path with `..` never is."""
    if not isinstance(path, str) or not path.startswith("/"):
        return False
    parts = _parts(path)
    return ".." not in parts and any(parts[: len(_parts(folder))] == _parts(folder) for folder in folders)


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


BASELINE: tuple[Control, ...] = (
    Control(
        "hostNamespaces",
        _at("spec.hostPID", "spec.hostIPC"),
        _one_of(None, False),
        "the pods share the node's processes or their memory",
    ),
    Control("privileged", _at("spec.*.securityContext.privileged"), _one_of(None, False), "a container is privileged"),
    Control(
        "capabilities_baseline",
        _at("spec.*.securityContext.capabilities.add[]"),
        _added(*USUAL_CAPABILITIES),
        "a container adds a capability that is not one of the usual ones",
        "remove it, or ask the platform team for rdma.capabilities",
    ),
    Control(
        "hostPathVolumes",
        host_paths,
        lambda place, openings: below_a_folder(place.value, openings.host_paths),
        "a volume is a path of the node",
        lambda openings: host_path_fix(openings.host_paths),
    ),
    Control(
        "hostProbesAndHostLifecycle",
        _at(*(f"spec.*.{handler}.{kind}.host" for handler in HANDLERS for kind in ASKING)),
        lambda place, openings: openings.host_network or place.value in (None, ""),
        "a probe or a handler of a container calls another host",
        "remove it: the kubelet then calls the pod itself",
    ),
    Control(
        "appArmorProfile",
        _contexts("appArmorProfile.type"),
        _one_of(None, *PROFILES),
        "AppArmor's profile is switched off",
    ),
    Control("appArmorAnnotations", _apparmor_annotations, _usual_profile, "AppArmor's profile is switched off"),
    Control(
        "seLinuxOptions",
        _contexts("seLinuxOptions.type"),
        _one_of(*SELINUX_TYPES),
        "the SELinux type is not one of those for containers",
    ),
    Control(
        "seLinuxUserAndRole",
        _contexts("seLinuxOptions.user", "seLinuxOptions.role"),
        _one_of(None, ""),
        "a user or role of SELinux is set",
    ),
    Control(
        "procMount",
        _at("spec.*.securityContext.procMount"),
        _one_of(None, "Default"),
        "a container has an unmasked /proc",
    ),
    Control(
        "seccompProfile_baseline",
        _contexts("seccompProfile.type"),
        _one_of(None, *PROFILES),
        "the seccomp profile is switched off",
    ),
    Control(
        "sysctls",
        _at("spec.securityContext.sysctls[].name"),
        _one_of(*SAFE_SYSCTLS),
        "a setting of the kernel is not one of those that stay in the pod",
    ),
    Control(
        "windowsHostProcess",
        _contexts("windowsOptions.hostProcess"),
        _one_of(None, False),
        "a container for Windows runs as a process of the node",
    ),
)
RESTRICTED: tuple[Control, ...] = (
    Control(
        "restrictedVolumes",
        volume_sources,
        # hostPath has its own control, with exceptions of the environment
        lambda place, openings: volume_type(place) in (*RESTRICTED_VOLUMES, "hostPath"),
        "a volume is of a type that this level does not have",
        "use a claim, or ask the platform team for another limits.pod_security",
    ),
    Control(
        "allowPrivilegeEscalation",
        _at("spec.*.securityContext.allowPrivilegeEscalation"),
        _one_of(False),
        "a container may gain privileges",
        "set `allowPrivilegeEscalation: false` there",
    ),
    Control(
        "runAsNonRoot",
        lambda body: _effective(body, "runAsNonRoot"),
        _one_of(True),
        "a container may run as root",
        f"{RUN_AS}; pods that set it themselves need `runAsNonRoot: true`",
    ),
    Control(
        "runAsUser",
        _contexts("runAsUser"),
        lambda place, openings: bool(place.value != 0),
        "a container runs as root",
        "choose the number of another user of the image",
    ),
    Control(
        "seccompProfile_restricted",
        lambda body: _effective(body, "seccompProfile.type"),
        _one_of(*PROFILES),
        "a container has no seccomp profile",
        "set `seccompProfile: {type: RuntimeDefault}` there",
        replaces="seccompProfile_baseline",
    ),
    Control(
        "capabilities_dropped",
        _at("spec.*.securityContext.capabilities.drop"),
        lambda place, openings: isinstance(place.value, list) and "ALL" in place.value,
        "a container does not drop all capabilities",
        "set `capabilities: {drop: [ALL]}` there",
    ),
    Control(
        "capabilities_restricted",
        _at("spec.*.securityContext.capabilities.add[]"),
        _added("NET_BIND_SERVICE"),
        "a container adds a capability",
        "remove it, or ask the platform team for rdma.capabilities",
        replaces="capabilities_baseline",
    ),
)
CONTROLS = (*BASELINE, *RESTRICTED)


def controls(level: str) -> list[Control]:
    """Return the controls of a level for pods of Linux: trainform starts no others."""
    chosen = {"privileged": (), "baseline": BASELINE, "restricted": CONTROLS}[level]
    replaced = {control.replaces for control in chosen}
    return [control for control in chosen if control.name not in replaced]


def violated(level: str, body: Mapping[str, Any], openings: Openings) -> Iterator[tuple[Control, list[Place]]]:
    """Yield each control of the level that the pod template violates, with the places."""
    for control in controls(level):
        found = control.violations(body, openings)
        if found:
            yield control, found


def pod_security(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield a finding for each pod template and each control of the environment's level that it violates."""
    level, openings = environment.limits.pod_security, Openings.of(environment)
    for template in judged.templates:
        for control, found in violated(level, template.body, openings):
            forbidden = f"which the environment {environment.name} forbids (Pod Security level {level})"
            fix = control.fix if isinstance(control.fix, str) else control.fix(openings)
            yield join_places(found, control.reason, forbidden, fix, template)


def join_places(violations: Iterable[Place], reason: str, forbidden: str, fix: str, template: Template) -> Finding:
    """Return one finding that names all places. A waiver of it holds for these places with these values."""
    found = distinct(violations)
    if len(found) == 1:
        ((where, value),) = found
        return Finding(where, value, f"{reason} ({where}), {forbidden}", fix, template)
    named = ", ".join(f"{place.where} = {shorten(place.value)}" for place in found)
    values = [place.value for place in found]
    return Finding(found[0].where, values, f"{reason} ({named}), {forbidden}", fix, template, bound=found)
