"""Kubernetes' Pod Security Standards as a table of controls, with the environment's openings.

They are those of k8s.io/pod-security-admission 0.34.4, which the API server of the sandbox runs:
`tests/engine/test_pod_security.py` compares the verdicts. Two controls are a rule of their own that holds at every
level, TF-NET-1: the node's network, and ports of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.errors import shorten
from trainform.manifests.pods import ASKING, HANDLERS
from trainform.manifests.templates import APPARMOR_ANNOTATION, Template
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.places import Place, distinct, places, volume_sources, volume_type
from trainform.rules.limits.rule import Finding
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
    """What the environment allows beyond the standards."""

    host_network: bool
    host_paths: tuple[str, ...]
    capabilities: tuple[str, ...]

    @staticmethod
    def of(environment: Environment) -> Openings:
        """The openings of an environment."""
        rdma, limits = environment.rdma, environment.limits
        granted = () if rdma is None else tuple(rdma.capabilities)
        return Openings(limits.host_network, tuple(limits.host_paths), granted)


Places = Callable[[Mapping[str, Any]], Iterator[Place]]
Allowed = Callable[[Place, Openings], bool]
"""True if a place has a value that is allowed; None stands for no value."""


class Control(Struct, frozen=True):
    """One control of the standards, by its name in Kubernetes, or that of a part of it."""

    name: str
    looks_at: Places
    """The places of a pod template that it judges."""
    allowed: Allowed
    reason: str
    fix: str = REMOVE
    replaces: str = ""
    """The control of `baseline` whose place it takes."""
    linux: bool = False
    """True if pods for Windows are free of it."""

    def violations(self, body: Mapping[str, Any], openings: Openings) -> list[Place]:
        """The places of the pod template that the control does not allow, each once."""
        return distinct(place for place in self.looks_at(body) if not self.allowed(place, openings))


def _at(*paths: str) -> Places:
    """Every place of these paths."""
    return lambda body: (place for path in paths for place in places(body, path))


def _of_all(path: str) -> Places:
    """A field of the security context of the pod and of each container."""
    return _at(f"spec.securityContext.{path}", f"spec.*.securityContext.{path}")


def effective(body: object, path: str) -> Iterator[Place]:
    """A field of the security context of each container, that of the pod in place of one that is not set; and that of
    the pod if it is set."""
    (of_pod,) = places(body, f"spec.securityContext.{path}")
    if of_pod.value is not None:
        yield of_pod
    for own in places(body, f"spec.*.securityContext.{path}"):
        yield of_pod if own.value is None else own


def _left_to_the_pod(path: str) -> Places:
    return lambda body: effective(body, path)


def _apparmor_annotations(body: Mapping[str, Any]) -> Iterator[Place]:
    for where, written in places(body, "metadata.annotations"):
        for key, value in written.items() if isinstance(written, dict) else ():
            if str(key).startswith(APPARMOR_ANNOTATION):
                yield Place(f"{where}.{key}", value)


def host_paths(body: object) -> Iterator[Place]:
    """The path of the node that each volume of type `hostPath` is; None if it names none."""
    for where, source in places(body, "spec.volumes[].hostPath"):
        if source is not None:
            yield Place(f"{where}.path", source.get("path") if isinstance(source, dict) else source)


def _one_of(*values: object) -> Allowed:
    # a tuple, since what somebody wrote may have no hash
    return lambda place, openings: place.value in values


def _added(*usual: str) -> Allowed:
    return lambda place, openings: place.value in (*usual, *openings.capabilities)


def _drops_all(place: Place, openings: Openings) -> bool:
    return isinstance(place.value, list) and "ALL" in place.value


def _usual_profile(place: Place, openings: Openings) -> bool:
    value = place.value
    return value in ("", "runtime/default") or (isinstance(value, str) and value.startswith("localhost/"))


def _own_network(place: Place, openings: Openings) -> bool:
    return openings.host_network or place.value in (None, "")


def _open_path(place: Place, openings: Openings) -> bool:
    return below_a_folder(place.value, openings.host_paths)


def _restricted_volume(place: Place, openings: Openings) -> bool:
    # paths of the node have a control of their own, which the environment can open
    return volume_type(place) in (*RESTRICTED_VOLUMES, "hostPath")


def _not_root(place: Place, openings: Openings) -> bool:
    return bool(place.value != 0)


def below_a_folder(path: object, folders: tuple[str, ...]) -> bool:
    """True if the path is one of the folders or below one. A path with `..` never is."""
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
        _open_path,
        "a volume is a path of the node",
        "use a claim, or ask the platform team for limits.host_paths",
    ),
    Control(
        "hostProbesAndHostLifecycle",
        _at(*(f"spec.*.{handler}.{kind}.host" for handler in HANDLERS for kind in ASKING)),
        _own_network,
        "a probe or a handler of a container calls another host",
        "remove it: the kubelet then calls the pod itself",
    ),
    Control(
        "appArmorProfile",
        _of_all("appArmorProfile.type"),
        _one_of(None, *PROFILES),
        "AppArmor's profile is switched off",
    ),
    Control("appArmorAnnotations", _apparmor_annotations, _usual_profile, "AppArmor's profile is switched off"),
    Control(
        "seLinuxOptions",
        _of_all("seLinuxOptions.type"),
        _one_of(*SELINUX_TYPES),
        "the SELinux type is not one of those for containers",
    ),
    Control(
        "seLinuxUserAndRole",
        lambda body: (place for part in ("user", "role") for place in _of_all(f"seLinuxOptions.{part}")(body)),
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
        _of_all("seccompProfile.type"),
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
        _of_all("windowsOptions.hostProcess"),
        _one_of(None, False),
        "a container for Windows runs as a process of the node",
    ),
)
RESTRICTED: tuple[Control, ...] = (
    Control(
        "restrictedVolumes",
        volume_sources,
        _restricted_volume,
        "a volume is of a type that this level does not have",
        "use a claim, or ask the platform team for another limits.pod_security",
    ),
    Control(
        "allowPrivilegeEscalation",
        _at("spec.*.securityContext.allowPrivilegeEscalation"),
        _one_of(False),
        "a container may gain privileges",
        "set `allowPrivilegeEscalation: false` there",
        linux=True,
    ),
    Control(
        "runAsNonRoot",
        _left_to_the_pod("runAsNonRoot"),
        _one_of(True),
        "a container may run as root",
        f"{RUN_AS}; pods that set it themselves need `runAsNonRoot: true`",
    ),
    Control(
        "runAsUser",
        _of_all("runAsUser"),
        _not_root,
        "a container runs as root",
        "choose the number of another user of the image",
    ),
    Control(
        "seccompProfile_restricted",
        _left_to_the_pod("seccompProfile.type"),
        _one_of(*PROFILES),
        "a container has no seccomp profile",
        "set `seccompProfile: {type: RuntimeDefault}` there",
        replaces="seccompProfile_baseline",
        linux=True,
    ),
    Control(
        "capabilities_dropped",
        _at("spec.*.securityContext.capabilities.drop"),
        _drops_all,
        "a container does not drop all capabilities",
        "set `capabilities: {drop: [ALL]}` there",
        linux=True,
    ),
    Control(
        "capabilities_restricted",
        _at("spec.*.securityContext.capabilities.add[]"),
        _added("NET_BIND_SERVICE"),
        "a container adds a capability",
        "remove it, or ask the platform team for rdma.capabilities",
        replaces="capabilities_baseline",
        linux=True,
    ),
)
CONTROLS = (*BASELINE, *RESTRICTED)


def controls(level: str, windows: bool = False) -> list[Control]:
    """The controls of a level, for pods of Windows or of Linux."""
    of_level = {"privileged": (), "baseline": BASELINE, "restricted": CONTROLS}[level]
    chosen = [control for control in of_level if not (windows and control.linux)]
    replaced = {control.replaces for control in chosen}
    return [control for control in chosen if control.name not in replaced]


def violated(level: str, body: Mapping[str, Any], openings: Openings) -> Iterator[tuple[Control, list[Place]]]:
    """Each control of the level that the pod template violates, with the places."""
    (system,) = places(body, "spec.os.name")
    for control in controls(level, windows=system.value == "windows"):
        found = control.violations(body, openings)
        if found:
            yield control, found


def pod_security(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """One finding for each control of the environment's level and each pod template that violates it."""
    level, openings = environment.limits.pod_security, Openings.of(environment)
    for template in judged.templates:
        for control, found in violated(level, template.body, openings):
            forbidden = f"which the environment {environment.name} forbids (Pod Security level {level})"
            yield finding_of(found, control.reason, forbidden, control.fix, template)


def finding_of(found: Iterable[Place], reason: str, forbidden: str, fix: str, template: Template) -> Finding:
    """One finding for all places, which it names: a waiver of it holds for these places with these values."""
    found = distinct(found)
    if len(found) == 1:
        ((where, value),) = found
        return Finding(where, value, f"{reason} ({where}), {forbidden}", fix, template)
    named = ", ".join(f"{place.where} = {shorten(place.value)}" for place in found)
    values = [place.value for place in found]
    return Finding(found[0].where, values, f"{reason} ({named}), {forbidden}", fix, template, bound=found)
