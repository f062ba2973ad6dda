"""The rules of Kubernetes for names, and the types that hold them.

Source: RFC 1123 and RFC 1035 labels as `k8s.io/apimachinery/pkg/util/validation` checks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, StringConstraints, WithJsonSchema
from pydantic_core import PydanticKnownError

from trainform import defaults
from trainform.spec.refusal import refusal

LABEL_MAX = 63
SUBDOMAIN_MAX = 253

END = r"$(?!\n)"  # Python's $ alone would let a line feed at the end pass
_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = rf"{_DNS}(\.{_DNS})*"
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_HOST = r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?"

# A Service and a Volcano Job that gets one must start with a letter (RFC 1035); other labels may start with a digit.
SERVICE_LABEL = rf"^[a-z]([-a-z0-9]*[a-z0-9])?{END}"
LABEL = rf"^{_DNS}{END}"
SUBDOMAIN = rf"^{_DOMAIN}{END}"
_QUALIFIED = rf"((?=[^/]{{1,253}}/){_DOMAIN}/)?{_WORD}"
QUALIFIED = rf"^{_QUALIFIED}{END}"
LABEL_VALUE = rf"^({_WORD})?{END}"
ENV_NAME = rf"^[A-Za-z_][A-Za-z0-9_]*{END}"
# Fields of a pod (validation.go, validEnvDownwardAPIFieldPathExpressions).
_FIELDS_OF_VARIABLES = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_ENTRY = rf"metadata\.(labels|annotations)\['{_QUALIFIED}'\]"
FIELD_OF_VARIABLE = rf"^({'|'.join(map(re.escape, _FIELDS_OF_VARIABLES))}|{_ENTRY}){END}"
# Kubernetes has four resources of its own; an extended resource has a domain other than kubernetes.io. Quotas spell it
# `requests.<domain>/<name>`, so the domain must leave room for that prefix and not start with it.
_EXTENDED = rf"(?!requests\.)(?![^/]*kubernetes\.io/)(?=[^/]{{1,244}}/){_DOMAIN}/{_WORD}"
EXTENDED = rf"^{_EXTENDED}{END}"
RESOURCE = rf"^(cpu|memory|ephemeral-storage|hugepages-[1-9][0-9]*[KMG]i|{_EXTENDED}){END}"
_CONTROL = r"\x00-\x1f\x7f-\x9f"
# No folder may be empty, `.` or `..`; `/` alone would hide the image.
ABSOLUTE_PATH = rf"^(/(?!\.\.?(/|$))[^\s:/{_CONTROL}]+)+/?{END}"
FILE_PATH = rf"^(/(?!\.\.?(/|$))[^\s:/{_CONTROL}]+)+{END}"
RELATIVE_PATH = rf"^(?!/)(?!(.*/)?\.\.(/|$))[^{_CONTROL}]+{END}"
ENTRY_KEY = rf"^(?!\.\.)(?!\.$)[-._a-zA-Z0-9]+{END}"
PORT_RANGE = rf"^[0-9]{{1,5}}-[0-9]{{1,5}}{END}"
CURRENCY = rf"^[A-Z]{{3}}{END}"
CAPABILITY = rf"^[A-Z][A-Z_]*{END}"
UID = rf"^[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}{END}"
COMMIT = rf"^([0-9a-f]{{40}}|[0-9a-f]{{64}}){END}"
# Addresses that git reads, but no program (ext::), local folder or option. `$(NAME)` is a variable of the pod, and may
# be the whole address. Only HTTP takes a password. No user, host or path begins with `-`, which ssh would read as an
# option.
_VARIABLE = r"\$\([A-Za-z_][A-Za-z0-9_]*\)"
_GIT_NAME = rf"(?!-)([-\w.+%~]|{_VARIABLE})+"
_GIT_HOST = rf"({_GIT_NAME}|\[[0-9A-Fa-f:.]+\])(:([0-9]{{1,5}}|{_VARIABLE}))?"
_GIT_PATH = rf"[^\s{_CONTROL}]+"
REPOSITORY = (
    rf"^({_VARIABLE}({_GIT_PATH})?|https?://({_GIT_NAME}(:[^\s/@{_CONTROL}]*)?@)?{_GIT_HOST}/{_GIT_PATH}"
    rf"|(ssh|git)://({_GIT_NAME}@)?{_GIT_HOST}/{_GIT_PATH}|{_GIT_NAME}@{_GIT_NAME}:(?!-){_GIT_PATH}){END}"
)
RESTART = rf"^(never|on-failure|all-when-evicted|[1-9][0-9]{{0,8}} times?){END}"
EXIT_CODES = rf"^[1-9][0-9]{{0,2}}(-[1-9][0-9]{{0,2}})?{END}"
FINGERPRINT = rf"^[0-9a-f]{{16}}{END}"
RULE = rf"^T[FR]-[A-Z]+-[1-9][0-9]*{END}"
REGISTRY = rf"^(?!.*//)(?!.*/.*:)[a-z0-9][-a-z0-9.:/_]*{END}"  # without a scheme, and without a tag behind a path
_PART = r"[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*"
# A registry whose host has a dot or a port, and an optional path.
MIRROR = rf"^(?=[^/]*[.:]|localhost(/|$)){_HOST}(\.{_HOST})*(:[0-9]{{1,5}})?(/{_PART})*{END}"
# github.com/distribution/reference: host and port, path in lower case, tag, digest
IMAGE = (
    rf"^({_HOST}(\.{_HOST})*(:[0-9]{{1,5}})?/)?{_PART}(/{_PART})*(:[A-Za-z0-9_][-A-Za-z0-9_.]{{0,127}})?(@sha256:[0-"
    rf"9a-f]{{64}})?{END}"
)


PLACEHOLDER = (
    "the image is the placeholder that `trainform new` writes",
    "write the image that holds your training code",
)


def is_placeholder(image: str) -> bool:
    """Return True for the image of `trainform new`: a node would retry its pull forever and hold the accelerators."""
    return _repository(image).rpartition("/")[2] == defaults.PLACEHOLDER_IMAGE


def split_registry(image: str) -> tuple[str, str]:
    """Return the registry ("" if there is none) and the rest of the image."""
    first, slash, rest = image.partition("/")
    named = slash and ("." in first or ":" in first or first == "localhost")
    return (first, rest) if named else ("", image)


def qualified(image: str) -> str:
    """Return the image with its registry: docker.io/library/python:3.11 for `python:3.11`."""
    registry, path = split_registry(image)
    if registry not in ("", "docker.io"):
        return image
    return f"docker.io/{path}" if "/" in path else f"docker.io/library/{path}"


def _repository(image: str) -> str:
    """Return the image without registry, tag and digest."""
    return split_registry(image)[1].partition("@")[0].partition(":")[0]


def _chosen_image(image: str) -> str:
    """Return the image. Refuses the placeholder, which no node can pull."""
    if is_placeholder(image):
        raise refusal(*PLACEHOLDER)
    return image


ServiceLabel = Annotated[str, StringConstraints(pattern=SERVICE_LABEL, max_length=LABEL_MAX)]
Label = Annotated[str, StringConstraints(pattern=LABEL, max_length=LABEL_MAX)]
Subdomain = Annotated[str, StringConstraints(pattern=SUBDOMAIN, max_length=SUBDOMAIN_MAX)]
LabelKey = Annotated[str, StringConstraints(pattern=QUALIFIED, max_length=SUBDOMAIN_MAX + 1 + LABEL_MAX)]
LabelValue = Annotated[str, StringConstraints(pattern=LABEL_VALUE, max_length=LABEL_MAX)]
EnvName = Annotated[str, StringConstraints(pattern=ENV_NAME)]
ResourceName = Annotated[str, StringConstraints(pattern=RESOURCE)]
ExtendedResource = Annotated[str, StringConstraints(pattern=EXTENDED)]
PodField = Annotated[
    str,
    StringConstraints(pattern=FIELD_OF_VARIABLE),
    WithJsonSchema({"anyOf": [{"enum": [*_FIELDS_OF_VARIABLES]}, {"pattern": rf"^{_ENTRY}{END}"}], "type": "string"}),
]
# Volcano labels each pod with the name of its queue, and a label value has 63 characters.
QueueName = Annotated[str, StringConstraints(pattern=SUBDOMAIN, max_length=LABEL_MAX)]
EntryKey = Annotated[str, StringConstraints(pattern=ENTRY_KEY, max_length=SUBDOMAIN_MAX)]
AbsolutePath = Annotated[str, StringConstraints(pattern=ABSOLUTE_PATH)]
FilePath = Annotated[str, StringConstraints(pattern=FILE_PATH)]
RelativePath = Annotated[str, StringConstraints(pattern=RELATIVE_PATH)]
Image = Annotated[str, StringConstraints(pattern=IMAGE), AfterValidator(_chosen_image)]
Mirror = Annotated[str, StringConstraints(pattern=MIRROR)]
Repository = Annotated[str, StringConstraints(pattern=REPOSITORY)]
Uid = Annotated[str, StringConstraints(pattern=UID)]

# Reason and fix for each pattern, so that messages need not show the pattern itself.
MEANING = {
    SERVICE_LABEL: (
        "is not a DNS label that starts with a letter",
        "use lower-case letters, digits and '-'; start with a letter, end with a letter or digit",
    ),
    LABEL: ("is not a DNS label", "use lower-case letters, digits and '-'; start and end with a letter or digit"),
    SUBDOMAIN: (
        "is not a Kubernetes object name",
        "use lower-case letters, digits, '-' and '.'; start and end with a letter or digit",
    ),
    QUALIFIED: ("is not a label or annotation key", "write name or domain/name, such as example.com/team"),
    LABEL_VALUE: (
        "is not a label value",
        "use at most 63 letters, digits, '-', '_' and '.'; start and end with a letter or digit",
    ),
    ENV_NAME: ("is not the name of an environment variable", "use letters, digits and '_'; do not start with a digit"),
    FIELD_OF_VARIABLE: (
        "is not a field of the pod that a variable can have",
        f"write one of {', '.join(_FIELDS_OF_VARIABLES)}, metadata.labels['KEY'], metadata.annotations['KEY']",
    ),
    RESOURCE: ("is not a resource name", "write cpu, memory, ephemeral-storage or domain/name, such as nvidia.com/gpu"),
    EXTENDED: (
        "is not the name of an extended resource",
        "write domain/name as the device plugin announces it, such as nvidia.com/gpu",
    ),
    ABSOLUTE_PATH: (
        "is not an absolute path of a folder",
        "write it like /mnt/data: no '/' alone, no '..', no spaces, no ':'",
    ),
    FILE_PATH: (
        "is not an absolute path of a file",
        "write it like /etc/nccl.conf: no '/' at the end, no '..', no spaces, no ':'",
    ),
    RELATIVE_PATH: (
        "is not a relative path inside the volume",
        "write it like runs/first: no '/' at the start, no '..'",
    ),
    ENTRY_KEY: (
        "is not a key of a Secret or ConfigMap",
        "use letters, digits, '-', '_' and '.'; do not start with '..'",
    ),
    PORT_RANGE: ("is not a range of ports", "write first-last, such as 20000-30000"),
    CURRENCY: ("is not the code of a currency", "write its three letters (ISO 4217), such as USD"),
    CAPABILITY: ("is not a Linux capability", "write it as Kubernetes does, without CAP_: IPC_LOCK"),
    RESTART: (
        "is not a way to restart",
        "write never, on-failure, all-when-evicted or a number of times up to 999999999, such as `3 times`",
    ),
    EXIT_CODES: ("is not an exit code or a range of them", "write a number from 1 to 255, or a range such as 128-255"),
    COMMIT: (
        "is not the full hash of a commit",
        "write its 40 (or 64) hex digits, as `git rev-parse HEAD` prints them",
    ),
    UID: ("is not a UID", "write it as `kubectl get namespace kube-system -o jsonpath={.metadata.uid}` prints it"),
    REPOSITORY: (
        "is not the address of a git repository on a server",
        "write https://HOST/PATH, ssh://USER@HOST/PATH, git://HOST/PATH or USER@HOST:PATH; escape other characters as "
        "in %20",
    ),
    FINGERPRINT: (
        "is not the fingerprint of a finding",
        "write its 16 hex digits, as `trainform check` or `trainform review` prints them; in quotes if they are all "
        "digits",
    ),
    RULE: ("is not the code of a rule", "write it as docs/reference/limits.md or review.md has it, such as TF-IMG-1"),
    REGISTRY: ("is not a registry or a path in one", "write it as it stands in images: registry.example.com/ai"),
    MIRROR: (
        "is not a registry with its host, or a path in one",
        "write it as it stands in images, without a tag: registry.example.com/ai, docker.io/pytorch",
    ),
    IMAGE: (
        "is not an image reference",
        "write registry/path:tag or registry/path@sha256:<64 hex digits>; the path in lower case",
    ),
}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with the known name that is most like this one; "" if none is like it."""
    import difflib  # only an error needs it

    near = difflib.get_close_matches(name, [*known], 1)
    return f"did you mean {near[0]}?" if near else ""


def is_label(text: str) -> bool:
    """Return True if the text is a DNS label (RFC 1123)."""
    return len(text) <= LABEL_MAX and matches(LABEL, text)


def matches(pattern: str, text: str) -> bool:
    """Return True if the text matches the pattern."""
    return re.match(pattern, text) is not None


def _known_backend(name: object) -> object:
    """Return the name of a backend. Raises the error of a literal for any other value."""
    if isinstance(name, str) and name in defaults.BACKENDS:
        return name
    *first, last = (repr(known) for known in defaults.BACKENDS)
    raise PydanticKnownError("literal_error", {"expected": f"{', '.join(first)} or {last}"})


BackendName = Annotated[
    str, BeforeValidator(_known_backend), WithJsonSchema({"enum": [*defaults.BACKENDS], "type": "string"})
]
