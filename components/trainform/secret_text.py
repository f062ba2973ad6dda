"""Which texts are secrets: a table of names whose values are secrets, and a table of shapes that secrets have whatever their name is.

A row of `NAMES` or `SHAPES` is found by the test that has its title. `escaping` is all that stands below: `errors` masks by these tables, and
`rules.limits.secrets` refuses by them.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from trainform.escaping import without_invisible

# Different characters at the end of a token, behind its prefix: `hf_xxxxxxxx…` stands for one in a text.
FEWEST_CHARACTERS, END_OF_TOKEN = 8, 20
# Characters at the end of a name that say what it is the name of; a name has no bound of its own.
LONGEST_NAME = 256


@dataclasses.dataclass(frozen=True)
class NameRow:
    """Names whose values are secrets by the custom of the field.

    mark: a text in lower case that each of the names contains. pattern: what the end of the name is, in words with `_` between them. but: names
    that mean something else. numbers: True if a number is a secret under this name too.
    """

    title: str
    mark: str
    pattern: re.Pattern[str]
    but: re.Pattern[str] | None = None
    numbers: bool = False

    def has(self, spelled: str) -> bool:
        """True if the name is one of the row. spelled: by `_spelled`."""
        return self.pattern.search(spelled) is not None and (self.but is None or self.but.search(spelled) is None)


def _varied(token: str) -> bool:
    return len(set(token[-END_OF_TOKEN:])) >= FEWEST_CHARACTERS


def _is_jwt(token: str) -> bool:
    """True if the first part is a JSON object with an algorithm."""
    header = token.partition(".")[0]
    try:
        found = json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "alg" in found


def _is_login(token: str) -> bool:
    """True if the end of the text is user and password in base64."""
    encoded = re.split(r"[\s\"]+", token.rstrip('"'))[-1]
    try:
        found = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in found and found.isprintable()


def _always(token: str) -> bool:
    return True


@dataclasses.dataclass(frozen=True)
class ShapeRow:
    """A shape that only secrets have: prefix, alphabet and fewest characters, so that no word matches.

    marks: texts in lower case, one of which is in each match or its name, so that most texts are not searched. is_secret: what a pattern cannot say of a
    match. under: names under which alone the shape is one of a secret; None: any.
    """

    title: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool] = _varied
    under: re.Pattern[str] | None = None

    def matches(self, text: str, lowered: str, spelled: str) -> Iterator[str]:
        """Each secret of this shape in the text. lowered: name and text in lower case. spelled: the name, by `_spelled`."""
        if not any(mark in lowered for mark in self.marks):
            return
        if self.under is not None and self.under.search(spelled) is None:
            return
        yield from (match[0] for match in self.pattern.finditer(text) if self.is_secret(match[0]))


def _ending(words: str) -> re.Pattern[str]:
    return re.compile(rf"(^|_)({words})$", re.IGNORECASE)


def _token(prefix: str, rest: str) -> re.Pattern[str]:
    """A token that no letter or digit comes before or after."""
    return re.compile(rf"(?<![A-Za-z0-9])(?:{prefix})(?:{rest})(?![A-Za-z0-9])")


def _any_case(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# Tokens of a tokenizer: --pad-token, and --placeholder_token of textual inversion.
_TEXT_TOKEN = _ending(
    "(PAD|BOS|EOS|EOT|BOT|EOD|UNK|SEP|CLS|MASK|START|END|STOP|SPECIAL|IMAGE|VIDEO|AUDIO|PLACEHOLDER|INITIALIZER|TRIGGER|CLASS|PROMPT|BLANK|NEXT"
    "|LAST|FIRST|NEW|PREFIX|SUFFIX|RESERVED|TOOL|IGNORE|PER|MAX|MIN|NUM)_TOKEN"
)
# Passes of a program over something: --num-pass, FORWARD_PASS.
_PASS_OF_A_PROGRAM = _ending("(FORWARD|BACKWARD|FIRST|SECOND|LAST|ONE|TWO|SINGLE|MULTI|NUM|LOW|HIGH|BAND|BY|ALL)_PASS")

NAMES: tuple[NameRow, ...] = (
    NameRow("password", "passw", _any_case("PASSWO?R?D$"), numbers=True),
    NameRow("pass", "pass", _ending(r"\w+_PASS"), _PASS_OF_A_PROGRAM, numbers=True),
    NameRow("pwd", "pwd", _ending("PWD"), numbers=True),
    NameRow("passphrase", "passphrase", _ending("PASSPHRASE"), numbers=True),
    NameRow("token", "token", _ending("TOKEN"), _TEXT_TOKEN),
    NameRow("secret", "secret", _ending("SECRET")),
    NameRow("secret key", "secret", _ending("SECRET_KEY(_BASE)?")),
    NameRow("api key", "key", _ending("API_?KEY")),
    NameRow("access key", "key", _ending("ACCESS_KEY")),
    NameRow("private key", "key", _ending("PRIVATE_KEY")),
    NameRow("account key", "key", _ending("(ACCOUNT|STORAGE|SHARED)_KEY")),
    NameRow("signing key", "key", _ending("(SIGNING|ENCRYPTION|MASTER|AUTH)_KEY")),
    NameRow("kaggle key", "key", _ending("KAGGLE_KEY")),
    NameRow("credentials", "credential", _ending("CREDENTIALS?")),
    NameRow("authorization", "authorization", _ending("AUTHORIZATION")),
)

# No `\s`: to it some control characters are spaces, and a password may hold them. A `/` in it should be escaped; where it is not, a port
# or a variable before it begins a path, and the number of characters is bounded, so that a text of many addresses is read once.
_PASSWORD_IN_ADDRESS = re.compile(
    r"://(?!\[)[^/ \t\r\n:@]*:(?!\$\(\w+\)@|\$[A-Z_][A-Z0-9_]*@|\$\{[A-Z_][A-Z0-9_]*\}@)([^/ \t\r\n@]+|(?![0-9]+/|\$)[^ \t\r\n@\"',]{1,256})@"
)

SHAPES: tuple[ShapeRow, ...] = (
    ShapeRow("password in an address", ("://",), _PASSWORD_IN_ADDRESS, _always),
    ShapeRow("secret in a query", ("token=", "key=", "password=", "passwd=", "secret="),
             _any_case(r"[?&](access_token|private_token|auth_token|token|api_?key|password|passwd|(client_)?secret)=[^&\s#$<{\"'*\[]{8,}"), _always),
    ShapeRow("private key", ("private key",), re.compile("-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----"), _always),
    ShapeRow("body of an OpenSSH private key", ("b3blbnnzac1rzxktdje",), re.compile("b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{8,}")),
    ShapeRow("PuTTY private key", ("putty-user-key-file-",), re.compile(r"PuTTY-User-Key-File-[0-9]: "), _always),
    ShapeRow("age identity", ("age-secret-key-1",), _token("AGE-SECRET-KEY-1", "[0-9A-Z]{58}")),
    ShapeRow("Hugging Face token", ("hf_",), _token("hf_", "[A-Za-z0-9]{30,}")),
    ShapeRow("Hugging Face organization token", ("api_org_",), _token("api_org_", "[A-Za-z0-9]{30,}")),
    ShapeRow("GitHub token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), _token("gh[posur]_", "[A-Za-z0-9]{36,}")),
    ShapeRow("fine-grained GitHub token", ("github_pat_",), _token("github_pat_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{30,}")),
    ShapeRow("GitLab token", ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-"),
             _token("gl(pat|dt|rt|ptt|cbt|ft|soat|agent)-", "[A-Za-z0-9_-]{20,}")),
    ShapeRow("OpenAI key", ("sk-",), _token("sk-", "[A-Za-z0-9]{40,}")),
    ShapeRow("DeepSeek or DashScope key", ("sk-",), _token("sk-", "[0-9a-f]{32}")),
    ShapeRow("OpenAI key of a project", ("sk-proj-", "sk-svcacct-", "sk-admin-"), _token("sk-(proj|svcacct|admin)-", "[A-Za-z0-9_-]{40,}")),
    ShapeRow("Anthropic key", ("sk-ant-",), _token("sk-ant-", "[a-z0-9]+-[A-Za-z0-9_-]{40,}")),
    ShapeRow("OpenRouter key", ("sk-or-v1-",), _token("sk-or-v1-", "[0-9a-f]{64}")),
    ShapeRow("Groq key", ("gsk_",), _token("gsk_", "[A-Za-z0-9]{40,}")),
    ShapeRow("NVIDIA key", ("nvapi-",), _token("nvapi-", "[A-Za-z0-9_-]{40,}")),
    ShapeRow("Replicate token", ("r8_",), _token("r8_", "[A-Za-z0-9]{37}")),
    ShapeRow("Slack token", ("xox",), _token("xox[abeprs]-", "[A-Za-z0-9-]{20,}")),
    ShapeRow("Slack token of an app", ("xapp-",), _token("xapp-", "[0-9]-[A-Za-z0-9-]{20,}")),
    ShapeRow("Slack webhook", ("hooks.slack.com/",), re.compile(r"hooks\.slack\.com/(services|workflows)/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]{16,}")),
    ShapeRow("AWS key id", ("akia", "asia"), _token("AKIA|ASIA", "[A-Z2-7]{16}")),
    ShapeRow("Google key", ("aiza",), _token("AIza", "[A-Za-z0-9_-]{35}")),
    ShapeRow("Google access token", ("ya29.",), _token(r"ya29\.", "[A-Za-z0-9_-]{30,}")),
    ShapeRow("Google client secret", ("gocspx-",), _token("GOCSPX-", "[A-Za-z0-9_-]{28}")),
    ShapeRow("JSON web token", ("eyj", "eya", "ewo"), re.compile(r"(?<![A-Za-z0-9_-])e[yw][A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,}"), _is_jwt),
    ShapeRow("bearer token", ("bearer",), _any_case(r"\bBearer\s+(?=[^\s]*[0-9])[A-Za-z0-9._~+/-]{20,}=*")),
    ShapeRow("basic login", ("basic",), _any_case(r"\bBasic\s+[A-Za-z0-9+/]{8,}={0,2}"), _is_login),
    ShapeRow("login of a registry", ('"auth"',), re.compile(r'"auth"\s*:\s*"[A-Za-z0-9+/]{8,}={0,2}"'), _is_login),
    ShapeRow("login in .netrc", ("machine",), re.compile(r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+[^\s$<*\[]\S{3,}"), _always),
    ShapeRow("npm token", ("npm_",), _token("npm_", "[A-Za-z0-9]{36}")),
    ShapeRow("PyPI token", ("pypi-ag",), _token("pypi-Ag", "[A-Za-z0-9_-]{50,}")),
    ShapeRow("Docker token", ("dckr_",), _token("dckr_(pat|oat)_", "[A-Za-z0-9_-]{27,}")),
    ShapeRow("Weights & Biases key", ("wandb",), _token("", "[0-9a-f]{40}"),
             under=_any_case("WANDB(?!.*(COMMIT|SHA|HASH|REVISION|GIT|RUN|TAG|ARTIFACT|DIGEST|GROUP|NAME))")),
    ShapeRow("Weights & Biases key of version 1", ("wandb_v1_",), _token("wandb_v1_", "[A-Za-z0-9_]{40,}")),
    ShapeRow("Baidu Cloud key", ("bce-v3/",), _token("bce-v3/", "[A-Za-z0-9-]{10,}/[0-9a-f]{40}")),
    ShapeRow("Weights & Biases login", ("wandb login",), re.compile(r"\bwandb login\s+(-[a-z-]+\s+)*[0-9a-f]{40}\b")),
    ShapeRow("connection string", ("accountkey=", "sharedaccesskey=", "password=", "pwd="), _any_case(
        r"((?<=;)(AccountKey|SharedAccessKey|Password|Pwd)=[^;\s$%<{*\[/.`][^;\s]{3,}|\b(AccountKey|SharedAccessKey|Password|Pwd)=[^;\s$%<{*\[/.`][^;\s]{3,256};)"
    ), _always),
    ShapeRow("Azure shared access signature", ("sig=",), re.compile(r"[?&]sig=[A-Za-z0-9%+/]{30,}")),
    ShapeRow("signed URL", ("-signature=",), _any_case(r"X-(Amz|Goog)-Signature=[0-9a-f]{64,}")),
    ShapeRow("Stripe key", ("k_live_", "k_test_"), _token("[sr]k_(live|test)_", "[A-Za-z0-9]{24,}")),
    ShapeRow("SendGrid key", ("sg.",), _token(r"SG\.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}")),
    ShapeRow("Databricks token", ("dapi",), _token("dapi", "[0-9a-f]{32}(-[0-9])?")),
    ShapeRow("Vault token", ("hvs.", "hvb."), _token(r"hv[sb]\.", "[A-Za-z0-9_-]{24,}")),
    ShapeRow("DigitalOcean token", ("_v1_",), _token("do[opr]_v1_", "[0-9a-f]{64}")),
    ShapeRow("Pulumi token", ("pul-",), _token("pul-", "[0-9a-f]{40}")),
)  # fmt: skip

# Most texts contain none of these, which is found out much faster than by the rows.
_MARKS_OF_NAMES = tuple(dict.fromkeys(row.mark for row in NAMES))
_MARKS_OF_SHAPES = tuple(dict.fromkeys(mark for row in SHAPES for mark in row.marks))

_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_COUNTED = re.compile(r"_?[0-9]+$")  # HF_TOKEN_2
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
# What a name of a secret may stand before without giving one away: nothing, a switch, a token of a tokenizer (<pad>, [PAD]), a
# reference that Kubernetes, a shell or a template resolves, the path of a file, what stands for a secret in a text.
_HARMLESS = re.compile(
    r"|true|false|yes|no|on|off|none|null|<[^<>]*>|\[[A-Z_]+\]|((Bearer|Basic|Token) +)?(\$\([^)]*\)?|\$\w+|\$\{[^}]*\}?|\{+[^{}]*\}+|%\(?\w*\)?s)"
    r"|`.*|\.{0,2}/\S*|[.*]+|(os\.)?(environ|getenv)\b[^,]*,?",
    re.IGNORECASE,
)

_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w.-]*)(=(?P<value>\S*))?")  # --hf-token hf_abc, --password=hunter2
_ASSIGNMENT = re.compile(r"\+{0,2}(?P<name>[A-Za-z_][\w.]*)=(?P<value>\S*)")  # wandb.api_key=…, as Hydra takes it
_SPACES = re.compile(r"(\s+)")
_QUOTES = "\"';&|()"  # what a shell's text has around its words
# `"password": "hunter2"` and login(token="…") in a program or a file; without quotes only a line of YAML whose value has a digit.
_PAIR = re.compile(
    r"(?<![\w$.-])-*[\"']?(?P<name>[A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*(?P<quote>[\"'])(?P<value>[^\"'\n]{1,512})(?P=quote)"
    r"|^[ \t-]*(?P<key>[A-Za-z_][\w.-]*):[ \t]+(?=\S*[0-9])(?P<plain>[A-Za-z0-9_+/=~!@#%^*-]{6,512})[ \t\r]*$",
    re.MULTILINE,
)


def looks_secret(name: str, value: object) -> bool:
    """True if a value must not be shown: by its name it is a secret, or a secret is in it."""
    spelled, rows = _named(name)
    return bool(rows) or (isinstance(value, str) and bool(_of_shape(value, spelled)))


def gives_away(name: str, text: str) -> bool:
    """True if the text itself is a secret. A switch, a reference and the like are not, nor is a number, unless the name is that of
    a password."""
    spelled, rows = _named(name)
    if _of_shape(text, spelled):
        return True
    if _HARMLESS.fullmatch(text) is not None:
        return False
    return any(row.numbers for row in rows) or (bool(rows) and _NUMBER.fullmatch(text) is None)


def secret_words(words: Sequence[str]) -> dict[int, str]:
    """Index of each word that holds a secret, and what a variable for it may be called."""
    found: dict[int, str] = {}
    for index, (word, following) in enumerate(itertools.pairwise([*words, ""])):
        given = _given(word, following)
        if given is not None and gives_away(given[0], given[1]):
            name, _, own = given
            found.setdefault(index if own else index + 1, _variable(name))
        elif (variable := secret_in(word) if given is None else _shaped(word)) is not None:
            found.setdefault(index, variable)
    return found


def secret_in(text: str) -> str | None:
    """What a variable may be called for the first secret in a text, which may be a command or a file; None if the text holds no secret."""
    if not _may_hold_secrets(text):
        return None
    shaped = _shaped(text)
    if shaped is not None:
        return shaped
    for pair in _PAIR.finditer(text):
        name, value = (pair["name"], pair["value"]) if pair["key"] is None else (pair["key"], pair["plain"])
        if gives_away(name, value):
            return _variable(name)
    parts = _unquoted(text.split())
    if parts == [text] and _given(text, "") is None:
        return None
    return next(iter(secret_words(parts).values()), None)


def _shaped(text: str) -> str | None:
    """What a variable may be called for a secret that the text shows by its shape."""
    if not _of_shape(text, ""):
        return None
    return "ADDRESS" if "://" in text else "TOKEN"


def is_secret_command(text: str) -> bool:
    """True if the words of a text hold a secret, as those of a command."""
    return bool(secret_words(_unquoted(text.split())))


def masked(text: str, mask: str) -> str:
    """The text with the mask in the place of each secret that is known by its shape."""
    for secret in _of_shape(text, ""):
        text = text.replace(secret, mask)
    return text


def masked_line(line: str, mask: str) -> str:
    """A line with the mask in the place of each secret: those of a shape, and words as of a command. The mask alone where nobody can tell
    where a secret ends."""
    shown = masked(line, mask)
    if secret_in(shown) is None:
        return shown
    parts = _SPACES.split(shown)
    for index in secret_words(_unquoted(parts[::2])):
        parts[2 * index] = mask
    shown = "".join(parts)
    return shown if secret_in(shown) is None else mask


def _of_shape(text: str, spelled: str) -> list[str]:
    """Each secret in the text that is known by its shape."""
    lowered = f"{spelled} {text}".lower()
    if not any(map(lowered.__contains__, _MARKS_OF_SHAPES)):
        return []
    return [secret for row in SHAPES for secret in row.matches(text, lowered, spelled)]


def _may_hold_secrets(text: str) -> bool:
    """False if no row can find anything in the text. In a text of other characters some may be invisible."""
    lowered = text.lower()
    marks = itertools.chain(_MARKS_OF_NAMES, _MARKS_OF_SHAPES)
    return not text.isascii() or any(map(lowered.__contains__, marks))


def _unquoted(words: Iterable[str]) -> list[str]:
    return [word.strip(_QUOTES) for word in words]


@functools.lru_cache(maxsize=4096)  # an object has the same few names many times
def _named(name: str) -> tuple[str, tuple[NameRow, ...]]:
    """The name as variables are spelled, and the rows of names that it has."""
    spelled = _spelled(name)
    return spelled, tuple(row for row in NAMES if row.has(spelled))


def _spelled(name: str) -> str:
    """`--hf-token`, `hfToken` and `example.com/hf-token` as variables are spelled: with underscores, and without a number at the end."""
    return _COUNTED.sub("", "_".join(_WORDS.split(without_invisible(name[-LONGEST_NAME:]))))


def _given(word: str, following: str) -> tuple[str, str, bool] | None:
    """Name and value that the word begins, and whether the value is in the word itself."""
    match = _OPTION.fullmatch(word)
    if match is None:
        match = _ASSIGNMENT.fullmatch(word)
    if match is None:
        return None
    name, value = match["name"], match["value"]
    if value is not None:
        return name, value.partition(";")[0].strip(_QUOTES), True  # of a connection string, or of a shell's line
    return name, "" if following.startswith("-") else following, False


def _variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).upper()
