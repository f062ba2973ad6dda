"""Recognition of secrets by their names or shapes, and masking of trees and texts.

A value is shown or masked as a whole. docs/how-to/use-secrets.md says in full what is masked and what is not.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform.console.lines import MASK, strip_invisible

DEEPEST = 100
"""Levels of mappings and lists. Deeper values are masked without being read."""
LONGEST_NAME = 256
SHORTEST_TOKEN = 4
SMALLEST_NUMBER = 10**7
"""The smallest number that counts as a token. Settings such as `--max-token 4096` are smaller."""
FEWEST_CHARACTERS, END_OF_TOKEN = 8, 20
"""Different characters at the end of a token. Placeholders such as `hf_xxxxxxxx…` have fewer."""

# --- names, in words with `_` between them

_SERVICES = (
    "KAGGLE|HF|HUGGING_?FACE|WANDB|OPEN_?AI|AZURE_OPENAI|ANTHROPIC|CLAUDE|GEMINI|GOOGLE|GROQ|MISTRAL|DEEP_?SEEK|DASH_"
    "?SCOPE|QWEN|OPEN_?ROUTER|LANG_?SMITH|COMET|NEPTUNE|CLEARML|NGC|NVIDIA|MODEL_?SCOPE|SWANLAB|GITHUB|GITLAB|SLACK|"
    "AZURE"
)
_CLOUDS = "VOLC|VOLCENGINE|TOS|BCE|BAIDU|ALIYUN|OSS|TENCENT|COS|HUAWEI|OBS|S3|AWS|MINIO"
_LOGINS = (
    "DB|DATABASE|SQL|MYSQL|PG|POSTGRES|MONGO|REDIS|SMTP|MAIL|FTP|SSH|SUDO|ROOT|ADMIN|USER|HTTP|PROXY|REGISTRY|DOCKER|"
    "LDAP|GIT|RABBITMQ|MQTT|KEYSTORE"
)
# Tokens of a tokenizer or of a fine-tuned image model: --pad-token, --src_token, --instance_token.
_TEXT = (
    "PAD|PADDING|BOS|EOS|EOT|EOD|SOS|UNK|UNKNOWN|SEP|DELIMITER|CLS|MASK|START|BEGIN|END|STOP|SPECIAL|IMAGE|IMG|VIDEO|"
    "VISION|AUDIO|PLACEHOLDER|INITIALIZER|TRIGGER|INSTANCE|CLASS|CONCEPT|MODIFIER|SUBJECT|STYLE|RARE|PROMPT|BLANK|"
    "NEXT|PREV|CURRENT|LAST|FIRST|NEW|PREFIX|MIDDLE|SUFFIX|ADDED|TOOL|THINK|IGNORE|PER|MAX|MIN|NUM|SRC|SOURCE|TGT|"
    "TARGET|LANG|TASK|TIMESTAMP|WORD"
)
_SEVERAL = r"(?:_?[0-9]+|_(?:DEV|PROD|PRODUCTION|STAGING|TEST|CI|LOCAL|OLD|NEW|BACKUP|DEFAULT|VALUE))*$"
# Values that people choose: a number or a short word can be one.
_CHOSEN = re.compile(
    rf"(?:PASSWO?R?DS?|(?:^|_)(?:PWD|PASSPHRASE|PASSCODE|(?:{_LOGINS})_PASS"
    rf"|(?:REDIS|REDISCLI|NEO4_?J|BASIC|DOCKER|REGISTRY|NPM|SMTP|MQTT)?_AUTH)){_SEVERAL}"
)
_ISSUED = re.compile(
    rf"(?:^|_)(?:TOKEN|(?:ACCESS|API|AUTH|BEARER|REFRESH)_TOKENS|SECRET|SECRET_?KEY(?:_BASE)?|API_?KEYS?|ACCESS_?KEY"
    rf"|PRIVATE_?KEY|(?:ACCOUNT|STORAGE|SHARED|SIGNING|ENCRYPTION|MASTER|AUTH|FERNET)_KEY|(?:{_SERVICES})_KEYS?"
    rf"|(?:{_CLOUDS})_(?:ACCESS_)?SK|(?:GITHUB|GH|GITLAB|GIT|AZURE_DEVOPS|DOCKER|DATABRICKS)_PAT|CREDENTIALS?|"
    r"AUTHORIZATION)"
    rf"{_SEVERAL}"
)
_TEXT_TOKEN = re.compile(rf"(?:^|_)(?:{_TEXT})_TOKEN{_SEVERAL}")
_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
REFERENCE = "secret"
"""The field that names a Secret, in experiments and in Kubernetes."""

# --- values that are not secrets, whatever their name

# Long patterns are texts, which `re` compiles when a value needs them: most files have no value like that.
# Nothing, a switch, a token of a tokenizer (<pad>, [PAD]), a reference that Kubernetes, a shell or a template resolves,
# a path, a mask.
_HARMLESS = (
    r"(?ai)|…|FILE|true|false|yes|no|on|off|none|null|<[^<>]*>|\[[a-z_, ]+\]|((Bearer|Basic|Token) "
    r"+)?(\$\([^)]*\)?|\$\w+|\$\{[^}]*\}?|\{+[^{}]*\}*"
    r"|%\(?\w*\)?s)|`.*|(~|\.{0,2})/\S*|[.*]+|(os\.)?(environ|getenv)\b[^,]*,?"
)
# A number, a sign, and what is written for servers that need no token.
_NOT_ISSUED = (
    r"(?ai)[-+]?[0-9]{1,7}|[-+]?[0-9]+(\.[0-9]+|(\.[0-9]+)?e[-+]?[0-9]+)|\W+|EMPTY|dummy|fake|unused|unset|disabled|"
    r"ignored?|n/?a|anonymous"
    r"|placeholder|ollama|lm-studio|not?[-_ ]?(needed|used|required|set|provided|available)"
    r"|(sk-)?no[-_ ]?(api[-_ ]?key|key|token|auth)([-_ ]?(needed|required))?|(hf_|sk-|ghp_)?(x{3,}|dummy|fake|empty)"
    r"|(dummy|fake)[-_ ](api[-_ ]?)?(key|token)|replace[-_ ]?me|your[-_ ][a-z_ -]+"
)
_IDENTIFIER = re.compile(r"(?:[A-Za-z_][\w.]*\.)?[A-Za-z_]+[,)\]}]*")

# --- shapes

_ISSUED_TOKENS = (
    "hf_ api_org_ ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- gldt- glrt- glptt- glcbt- glagent- sk-proj-"
    " sk-svcacct- sk-admin- sk-ant- sk-or-v1- gsk_ xai- pplx- csk- tgp_v1_ pcsk_ nvapi- r8_ KGAT_ lsv2_pt_"
    " lsv2_sk_ wandb_v1_ npm_ pypi- dckr_pat_ dckr_oat_ xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- ya29. GOCSPX-"
    " AIza AKLT AKID LTAI AKIA ASIA hvs. hvb. dapi pul- glsa_ sk_live_ rk_live_ dop_v1_ bce-v3/ALTAK- glrtr-"
    " glft- glsoat- tvly- jina_ rpa_ glc_ sntrys_ tskey-auth- ATATT3 IQoJb3JpZ2lu FwoGZXIvYXdz"
)
PREFIXES = tuple(_ISSUED_TOKENS.split())
"""Prefixes of tokens that servers issue; at least 16 letters and digits follow."""
_TOKEN = (
    rf"(?<![A-Za-z0-9])(?:(?:{'|'.join(map(re.escape, PREFIXES))})(?:[A-Za-z0-9]{{16,}}"
    r"|(?=[A-Za-z_-]{0,60}[0-9])(?=[a-z0-9_-]{0,60}[A-Z])[A-Za-z0-9_-]{20,})|sk-[A-Za-z0-9]{32,})"
)
PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY|PuTTY-User-Key-File-")
# Pattern -> substrings, one of which is in every match: a text without them is not searched.
SHAPES: dict[str, tuple[str, ...]] = {
    PRIVATE_KEY.pattern: ("PRIVATE KEY", "PuTTY"),
    "AGE-SECRET-KEY-1[0-9A-Z]{20,}": ("AGE-SECRET",),
    # a private key in base64, and the body of one
    "LS0tLS1CRUdJTiB(?:QUklWQVRF|SU0Eg|PUEVOU1NI|FQyBQ|FTkNSWVBURUQ)|b3BlbnNzaC1rZXktdjE": (
        "LS0tLS1CRUdJTi",
        "b3BlbnNzaC1",
    ),
    r"(?<![A-Za-z0-9_-])eyJ(?:hbGci|0eXAi|raWQi)[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,}": ("eyJ",),
    # A password's `/` should be escaped; if it is not, a port or a variable before it begins a path.
    r"://(?!\[)[^/ \t\r\n:@]*+:(?!\$\(\w+\)@|\$[A-Z_][A-Z0-9_]*@|\$\{[A-Z_][A-Z0-9_]*\}@)"
    r"([^/ \t\r\n@]++|(?![0-9]+/|\$)[^ \t\r\n@\"',]{1,256}+)@": ("://",),
    r"://(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}@": ("://",),
    r"[?&](?:sig|X-(?:Amz|Goog)-Signature)=[A-Za-z0-9%+/]{30,}": ("sig=", "Signature="),
    r"\b[Bb]earer\s+(?=\S*[0-9])[A-Za-z0-9._~+/-]{20,}": ("earer",),
    r"\b[Bb]asic\s+(?=\S*[0-9=])[A-Za-z0-9+/]{12,}={0,2}": ("asic",),
    r'"auth"\s*:\s*"[A-Za-z0-9+/]{8,}={0,2}"': ('"auth"',),
    r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+[^\s$<*\[]\S{3,}": ("machine",),
    r"hooks\.slack\.com/(?:services|workflows)/\w+/\w+/\w{16,}|/bot/v2/hook/[0-9a-f-]{36}": ("hooks.slack", "/bot/v2/"),
    r"\bwandb login\s+(?:-[a-z-]+\s+)*[0-9a-f]{40}\b": ("wandb login",),
}
_SHAPE = "|".join(f"(?:{pattern})" for pattern in SHAPES)
_SHAPE_MARKS = tuple(dict.fromkeys(mark for marks in SHAPES.values() for mark in marks))
_TOKEN_MARKS = (*PREFIXES, "sk-")

# --- names and values in a command, a program or a file

_NAME_MARKS = ("pass", "pwd", "token", "secret", "key", "credential", "auth", "_sk", "_pat")
_NAME = rf"(?=[\w.-]*?(?i:{'|'.join(_NAME_MARKS)}))[A-Za-z_][\w.-]*"
# --hf-token x
_GIVEN = rf"--?(?P<option>{_NAME})\s+(?!-)[\"']?(?P<given>[^\s\"'`;|&)]+)"
# login(token="x"), "password": "x", HF_TOKEN=x, ++wandb.api_key=x, 'X-API-Key: x'
_ASSIGNED = (
    rf"-*(?P<name>{_NAME})(?:[\"']?\s*[:=]\s*(?P<quote>[\"'])(?P<quoted>[^\"'\n]{{1,512}})(?P=quote)"
    r"|=[\"']?(?P<plain>[^\s\"'`;|&,)}]+)|:[ \t]+(?P<sent>[^\s\"']+)[\"'])"
)
_PAIR = rf"(?<![\w$.-])(?<!\? )(?:{_GIVEN}|{_ASSIGNED})"  # `a ? token : 'x'` says nothing about the token
# A line of a file: password: x9. Without quotes only a value with a digit counts, since a program may have `password =
# ask()`.
_LINE = (
    rf"(?m)^[ \t-]*(?P<name>{_NAME})[ \t]*[:=][ \t]+(?=\S*[0-9])(?P<value>[A-Za-z0-9_+/=~!@#%^*-]{{6,512}})[ \t\r]*$"
)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)")


def is_secret(name: str, value: object) -> bool:
    """Return whether the value must not be shown: by its name, or because a secret is in it."""
    if isinstance(value, str):
        return is_value_of(name, value) or secret_in(value) is not None
    if isinstance(value, int | float) and not isinstance(value, bool):
        kind = _kind(name)
        return kind == "chosen" or (kind == "issued" and value >= SMALLEST_NUMBER)
    return False


@functools.lru_cache(maxsize=4096)
def is_value_of(name: str, text: str) -> bool:
    """Return whether the text is a secret by its name: not a reference, a path, a switch or a number."""
    kind = _kind(name)
    if not kind or re.fullmatch(_HARMLESS, text) is not None or _is_variable(text, name, kind):
        return False
    return kind == "chosen" or (len(text) >= SHORTEST_TOKEN and re.fullmatch(_NOT_ISSUED, text) is None)


@functools.lru_cache(maxsize=4096)
def _kind(name: str) -> str:
    """Return `chosen` for the name of a password, `issued` for that of a token or key, and "" for any other."""
    if name == REFERENCE:
        return ""
    spelled = "_".join(_WORDS.split(strip_invisible(name[-LONGEST_NAME:]))).upper()
    if _CHOSEN.search(spelled) is not None:
        return "chosen"
    return "issued" if _ISSUED.search(spelled) is not None and _TEXT_TOKEN.search(spelled) is None else ""


def names_secret(name: str) -> bool:
    """Return whether a value with this name may be a secret, whatever it is."""
    return _kind(name) != ""


def _is_variable(text: str, name: str, kind: str) -> bool:
    """Return whether the text names a variable with such a secret: `token=args.hf_token`."""
    if re.fullmatch(_IDENTIFIER, text) is None:
        return False
    identifier = text.rstrip(",)]}")
    is_name = _kind(identifier) != ""
    return (
        is_name if "." in identifier else kind == "issued" and (identifier == name or (is_name and "_" in identifier))
    )


@functools.lru_cache(maxsize=4096)
def secret_in(text: str) -> str | None:
    """Return a variable's name for the first secret in a text, a command or a file; None if there is none."""
    if has_shape(text):
        return "ADDRESS" if "://" in text else "TOKEN"
    if not any(map(text.lower().__contains__, _NAME_MARKS)):
        return None
    return next((variable(name) for name, value in _pairs(text) if is_value_of(name, value)), None)


@functools.lru_cache(maxsize=4096)
def has_shape(text: str) -> bool:
    """Return whether a secret in the text is known by its shape, whatever its name is."""
    if any(map(text.__contains__, _SHAPE_MARKS)) and re.search(_SHAPE, text) is not None:
        return True
    tokens = re.findall(_TOKEN, text) if any(map(text.__contains__, _TOKEN_MARKS)) else ()
    return any(len(set(token[-END_OF_TOKEN:])) >= FEWEST_CHARACTERS for token in tokens)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(_PAIR, text):
        yield found["option"] or found["name"], found["given"] or found["quoted"] or found["plain"] or found["sent"]
    for found in re.finditer(_LINE, text):
        yield found["name"], found["value"]


def secret_words(words: Sequence[str]) -> dict[int, str]:
    """Return the index of each word of a command that holds a secret, with a name for a variable."""
    found: dict[int, str] = {}
    for index, word in enumerate(words):
        option = _OPTION.fullmatch(words[index - 1]) if index else None
        name = secret_in(word)
        if name is None and option is not None and not word.startswith("-") and is_value_of(option["name"], word):
            name = variable(option["name"])
        if name is not None:
            found[index] = name
    return found


def variable(name: str) -> str:
    """Return the name as variables are spelled."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name).upper()


def masked(tree: Any, name: str = "", depth: int = 0) -> Any:
    """Return the tree with each secret value, word of a command and key masked. name: the name of the tree."""
    if isinstance(tree, str | int | float):
        return MASK if is_secret(name, tree) else tree
    if depth > DEEPEST:
        return MASK
    if isinstance(tree, Mapping):
        return {
            masked_line(key) if isinstance(key, str) else key: masked(value, name_of(key, tree, name), depth + 1)
            for key, value in tree.items()
        }
    if isinstance(tree, list | tuple):
        words = secret_words(tree) if {*map(type, tree)} == {str} else {}
        items = (MASK if index in words else masked(item, name, depth + 1) for index, item in enumerate(tree))
        return type(tree)(items)
    if isinstance(tree, Struct):
        fields = {field: masked(getattr(tree, field), field, depth + 1) for field in tree.__struct_fields__}
        return structs.replace(tree, **fields)
    return tree


def name_of(key: object, mapping: Mapping[Any, Any], above: str) -> str:
    """Return the name of an entry. A field `value` has the name next to it, or else that of its mapping."""
    if key != "value":
        return str(key)
    name = mapping.get("name")
    return name if isinstance(name, str) else above


def masked_line(line: str) -> str:
    """Return the mask if a secret is in the line, or in what a person reads of it."""
    return MASK if any(secret_in(each) is not None for each in {line, strip_invisible(line)}) else line


def masked_path(path: str) -> str:
    """Return the path up to a key that holds a secret: `env.[secret]`."""
    parts = path.split(".")
    shown = [*itertools.takewhile(lambda part: secret_in(part) is None, parts)]
    if len(shown) < len(parts):
        return ".".join([*shown, MASK])
    return masked_line(path)


def masked_lines(text: str) -> str:
    """Return the text with the mask in place of each line that holds a secret; the mask alone for a private key."""
    return MASK if PRIVATE_KEY.search(text) is not None else "\n".join(map(masked_line, text.split("\n")))
