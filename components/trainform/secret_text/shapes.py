"""Shapes that secrets have whatever their name is."""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from trainform.secret_text.patterns import Marks, Pattern, any_case

# Different characters at the end of a token, behind its prefix: `hf_xxxxxxxx…` stands for one in a text.
FEWEST_CHARACTERS, END_OF_TOKEN = 8, 20

# A word that may be a token in base64, in either alphabet: the shortest has 16 characters, which are 22 digits. Of a text that is longer than anybody
# writes, this many words are decoded, each up to this many characters.
SHORTEST_WORD = 22
_ENCODED = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{SHORTEST_WORD},}}={{0,2}}")
_BETWEEN = re.compile(r"[/_-]")
MOST_WORDS, LONGEST_WORD = 1024, 2**16
# Texts whose answers are kept: an object has most of its texts several times, in each replica and in what the user wrote.
REMEMBERED = 4096


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


class ShapeRow(Struct, frozen=True):
    """A shape that only secrets have: prefix, alphabet and fewest characters, so that no word matches.

    marks: texts in lower case, one of which is in each match or its name, so that most texts are not searched. is_secret: what a pattern cannot say of a
    match. under: names under which alone the shape is one of a secret; None: any.
    """

    title: str
    marks: tuple[str, ...]
    pattern: Pattern
    is_secret: Callable[[str], bool] = _varied
    under: Pattern | None = None

    def matches(self, text: str, spelled: str) -> Iterator[str]:
        """Each secret of this shape in the text. spelled: the name, by `names.named`."""
        if self.under is not None and self.under.compiled.search(spelled) is None:
            return
        yield from (match[0] for match in self.pattern.compiled.finditer(text) if self.is_secret(match[0]))


def _token(prefix: str, rest: str) -> Pattern:
    """A token that no letter or digit comes before or after."""
    return Pattern(rf"(?<![A-Za-z0-9])(?:{prefix})(?:{rest})(?![A-Za-z0-9])")


# No `\s`: to it some control characters are spaces, and a password may hold them. A `/` in it should be escaped; where it is not, a port
# or a variable before it begins a path, and the number of characters is bounded, so that a text of many addresses is read once. What is read is not
# given back (`*+`): none of it could be what has to follow.
_PASSWORD_IN_ADDRESS = Pattern(
    r"://(?!\[)[^/ \t\r\n:@]*+:(?!\$\(\w+\)@|\$[A-Z_][A-Z0-9_]*@|\$\{[A-Z_][A-Z0-9_]*\}@)([^/ \t\r\n@]++|(?![0-9]+/|\$)[^ \t\r\n@\"',]{1,256}+)@"
)

# With all that follows, to its last line, or as far as there are words of base64 where that is missing: who masks its first line alone shows the key.
# A line may end with `\\n`, as in a text that is escaped already.
_PRIVATE_KEY = Pattern(
    r"-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----"
    r"(([^-]|-(?!----))*+-----END [A-Z ]*PRIVATE KEY( BLOCK)?-----|((\s|\\[rn])*+[A-Za-z0-9+/]{16,}+={0,2})*+)"
)

_OF_GITLAB = "pat|dt|rt|rtr|ptt|cbt|ft|ffct|soat|oas|agent|imt|wt"
_UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

SHAPES: tuple[ShapeRow, ...] = (
    ShapeRow("password in an address", ("://",), _PASSWORD_IN_ADDRESS, _always),
    ShapeRow("token in an address", ("://",), Pattern(r"://(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}@")),
    ShapeRow("secret in a query", ("token=", "key=", "password=", "passwd=", "secret="),
             any_case(r"[?&](access_token|private_token|auth_token|token|api_?key|password|passwd|(client_)?secret)=[^&\s#$<{\"'*\[]{8,}"), _always),
    ShapeRow("private key", ("private key",), _PRIVATE_KEY, _always),
    ShapeRow("body of an OpenSSH private key", ("b3blbnnzac1rzxktdje",), Pattern("b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{8,}")),
    ShapeRow("PuTTY private key", ("putty-user-key-file-",), Pattern(r"PuTTY-User-Key-File-[0-9]: "), _always),
    ShapeRow("age identity", ("age-secret-key-1",), _token("AGE-SECRET-KEY-1", "[0-9A-Z]{58}")),
    ShapeRow("Hugging Face token", ("hf_",), _token("hf_", "[A-Za-z0-9]{30,}")),
    ShapeRow("Hugging Face organization token", ("api_org_",), _token("api_org_", "[A-Za-z0-9]{30,}")),
    ShapeRow("GitHub token", ("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), _token("gh[posur]_", "[A-Za-z0-9]{36,}")),
    ShapeRow("fine-grained GitHub token", ("github_pat_",), _token("github_pat_", "[A-Za-z0-9]{22}_[A-Za-z0-9]{30,}")),
    ShapeRow("GitLab token", tuple(f"gl{kind}-" for kind in _OF_GITLAB.split("|")),
             _token(f"gl({_OF_GITLAB})-", "[A-Za-z0-9_-]{20,}")),
    ShapeRow("OpenAI key", ("sk-",), _token("sk-", "[A-Za-z0-9]{40,}")),
    ShapeRow("DeepSeek or DashScope key", ("sk-",), _token("sk-", "[0-9a-f]{32}")),
    ShapeRow("OpenAI key of a project", ("sk-proj-", "sk-svcacct-", "sk-admin-"), _token("sk-(proj|svcacct|admin)-", "[A-Za-z0-9_-]{40,}")),
    ShapeRow("Anthropic key", ("sk-ant-",), _token("sk-ant-", "[a-z0-9]+-[A-Za-z0-9_-]{40,}")),
    ShapeRow("Langfuse key", ("sk-lf-",), _token("sk-lf-", _UUID)),
    ShapeRow("LangSmith key", ("lsv2_",), _token("lsv2_(pt|sk)_", "[0-9a-f]{32}_[0-9a-f]{10}")),
    ShapeRow("OpenRouter key", ("sk-or-v1-",), _token("sk-or-v1-", "[0-9a-f]{64}")),
    ShapeRow("Groq key", ("gsk_",), _token("gsk_", "[A-Za-z0-9]{40,}")),
    ShapeRow("xAI key", ("xai-",), _token("xai-", "[A-Za-z0-9]{60,}")),
    ShapeRow("Perplexity key", ("pplx-",), _token("pplx-", "[A-Za-z0-9]{40,}")),
    ShapeRow("Cerebras key", ("csk-",), _token("csk-", "[a-z0-9]{40,}")),
    ShapeRow("Together key", ("tgp_v1_",), _token("tgp_v1_", "[A-Za-z0-9_-]{40,}")),
    ShapeRow("Tavily key", ("tvly-",), _token("tvly-(dev-|prod-)?", "[A-Za-z0-9]{30,}")),
    ShapeRow("Jina key", ("jina_",), _token("jina_", "[A-Za-z0-9]{32}[A-Za-z0-9_-]{20,}")),
    ShapeRow("Pinecone key", ("pcsk_",), _token("pcsk_", "[A-Za-z0-9_]{40,}")),
    ShapeRow("RunPod key", ("rpa_",), _token("rpa_", "[A-Z0-9]{40,}[a-z0-9]*")),
    ShapeRow("ModelScope token", ("ms-",), _token("ms-", _UUID)),
    ShapeRow("Kaggle token", ("kgat_",), _token("KGAT_", "[0-9a-f]{32}")),
    ShapeRow("Neptune token", ("eyjhcglfywrkcmvzcyi6",), _token("eyJhcGlfYWRkcmVzcyI6", "[A-Za-z0-9+/_-]{40,}={0,2}")),
    ShapeRow("Prefect key", ("pnu_", "pnb_"), _token("pn[ub]_", "[A-Za-z0-9]{36}")),
    ShapeRow("Grafana token", ("glsa_", "glc_"), _token("glsa_[A-Za-z0-9]{32}_|glc_[A-Za-z0-9+/]{32}", "[A-Za-z0-9+/]{8,}={0,3}")),
    ShapeRow("Sentry token", ("sntrys_", "sntryu_"), _token("sntry[su]_", "[A-Za-z0-9+/=_-]{60,}")),
    ShapeRow("Tailscale key", ("tskey-",), _token("tskey-[a-z]+-", "[A-Za-z0-9]{10,}-[A-Za-z0-9]{20,}")),
    ShapeRow("Terraform token", (".atlasv1.",), _token(r"[A-Za-z0-9]{14}\.atlasv1\.", "[A-Za-z0-9_-]{60,}")),
    ShapeRow("1Password token", ("ops_eyj",), _token("ops_eyJ", "[A-Za-z0-9+/_-]{100,}={0,2}")),
    ShapeRow("Artifactory token", ("cmvmdgtu", "akcp"), _token("cmVmdGtu[A-Za-z0-9]{16}|AKCp[A-Za-z0-9]{29}", "[A-Za-z0-9]{40}")),
    ShapeRow("Atlassian token", ("atatt3", "atbb"), _token("ATATT3[A-Za-z0-9_-]{100}|ATBB", "[A-Za-z0-9_-]{28,}(=[A-F0-9]{8})?")),
    ShapeRow("NVIDIA key", ("nvapi-",), _token("nvapi-", "[A-Za-z0-9_-]{40,}")),
    ShapeRow("Replicate token", ("r8_",), _token("r8_", "[A-Za-z0-9]{37}")),
    ShapeRow("Slack token", ("xox",), _token("xox[abeprs]-", "[A-Za-z0-9-]{20,}")),
    ShapeRow("Slack token of an app", ("xapp-",), _token("xapp-", "[0-9]-[A-Za-z0-9-]{20,}")),
    ShapeRow("Slack webhook", ("hooks.slack.com/",), Pattern(r"hooks\.slack\.com/(services|workflows)/[A-Za-z0-9]+/[A-Za-z0-9]+/[A-Za-z0-9]{16,}")),
    ShapeRow("webhook of a chat", ("/webhook", "/hook/", "/send?key="), Pattern(
        r"discord(app)?\.com/api/webhooks/[0-9]+/[A-Za-z0-9_-]{40,}|webhook\.office\.com/webhookb2/[^\s/]+/IncomingWebhook/[0-9a-f]{32}"
        rf"|/open-apis/bot/v2/hook/{_UUID}|/webhook/send\?key={_UUID}"
    )),
    ShapeRow("Telegram token", (":aa",), Pattern(r"(?<![A-Za-z0-9:])(bot)?[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9])")),
    ShapeRow("AWS key id", ("akia", "asia", "abia", "acca"), _token("AKIA|ASIA|ABIA|ACCA", "[A-Z2-7]{16}")),
    ShapeRow("AWS session token", ("iqojb3jpz2lu", "fwogzxivyxdz"), _token("IQoJb3JpZ2lu|FwoGZXIvYXdz", "[A-Za-z0-9+/]{60,}={0,2}")),
    ShapeRow("AWS Bedrock key", ("absk", "bedrock-api-key-"), _token("ABSK|bedrock-api-key-", "[A-Za-z0-9+/]{80,}={0,2}")),
    ShapeRow("Google key", ("aiza",), _token("AIza", "[A-Za-z0-9_-]{35}")),
    ShapeRow("Google access token", ("ya29.",), _token(r"ya29\.", "[A-Za-z0-9_-]{30,}")),
    ShapeRow("Google client secret", ("gocspx-",), _token("GOCSPX-", "[A-Za-z0-9_-]{28}")),
    ShapeRow("Google refresh token", ("1//0",), _token("1//0", "[A-Za-z0-9_-]{40,}")),
    ShapeRow("Google HMAC key", ("goog1e", "googz"), _token("GOOG(1E|Z)?", "[A-Z0-9]{56,}")),
    ShapeRow("Azure client secret", ("q~",), Pattern(r"(?<![A-Za-z0-9_.~-])[A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34}(?![A-Za-z0-9_~-])")),
    ShapeRow("Azure key", ("azdo", "jqqj99", "+ast", "+acr"), Pattern(
        r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{40,80}(AZDO[A-Za-z0-9]{4}|JQQJ99[A-Za-z0-9]{20,30}|\+(ASt|ACR)[A-Za-z0-9+/]{6,10})={0,2}(?![A-Za-z0-9])"
    )),
    ShapeRow("Alibaba Cloud key id", ("ltai",), _token("LTAI", "[A-Za-z0-9]{12,26}")),
    ShapeRow("Volcengine key id", ("aklt",), _token("AKLT", "[A-Za-z0-9_-]{30,}={0,2}")),
    ShapeRow("Tencent Cloud key id", ("akid",), _token("AKID", "[A-Za-z0-9]{32}")),
    ShapeRow("JSON web token", ("eyj", "eya", "ewo"), Pattern(r"(?<![A-Za-z0-9_-])e[yw][A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,}"), _is_jwt),
    ShapeRow("bearer token", ("bearer",), any_case(r"\bBearer\s+(?=[^\s]*[0-9])[A-Za-z0-9._~+/-]{20,}=*")),
    ShapeRow("basic login", ("basic",), any_case(r"\bBasic\s+[A-Za-z0-9+/]{8,}={0,2}"), _is_login),
    ShapeRow("login of a registry", ('"auth"',), Pattern(r'"auth"\s*:\s*"[A-Za-z0-9+/]{8,}={0,2}"'), _is_login),
    ShapeRow("login in .netrc", ("machine",), Pattern(r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+[^\s$<*\[]\S{3,}"), _always),
    ShapeRow("npm token", ("npm_",), _token("npm_", "[A-Za-z0-9]{36}")),
    ShapeRow("PyPI token", ("pypi-ag",), _token("pypi-Ag", "[A-Za-z0-9_-]{50,}")),
    ShapeRow("Docker token", ("dckr_",), _token("dckr_(pat|oat)_", "[A-Za-z0-9_-]{27,}")),
    ShapeRow("Weights & Biases key", ("wandb",), _token("", "[0-9a-f]{40}"),
             under=any_case("WANDB(?!.*(COMMIT|SHA|HASH|REVISION|GIT|RUN|TAG|ARTIFACT|DIGEST|GROUP|NAME))")),
    ShapeRow("Weights & Biases key of version 1", ("wandb_v1_",), _token("wandb_v1_", "[A-Za-z0-9_]{40,}")),
    ShapeRow("Baidu Cloud key", ("bce-v3/",), _token("bce-v3/", "[A-Za-z0-9-]{10,}/[0-9a-f]{40}")),
    ShapeRow("Baidu Cloud key id", ("altak",), _token("(?<!bce-v3/)ALTAK-?", "[A-Za-z0-9]{21}")),
    ShapeRow("Weights & Biases login", ("wandb login",), Pattern(r"\bwandb login\s+(-[a-z-]+\s+)*[0-9a-f]{40}\b")),
    ShapeRow("connection string", ("accountkey=", "sharedaccesskey=", "password=", "pwd="), any_case(
        r"((?<=;)(AccountKey|SharedAccessKey|Password|Pwd)=[^;\s$%<{*\[/.`][^;\s]{3,}|\b(AccountKey|SharedAccessKey|Password|Pwd)=[^;\s$%<{*\[/.`][^;\s]{3,256};)"
    ), _always),
    ShapeRow("Azure shared access signature", ("sig=",), Pattern(r"[?&]sig=[A-Za-z0-9%+/]{30,}")),
    ShapeRow("signed URL", ("-signature=",), any_case(r"X-(Amz|Goog)-Signature=[0-9a-f]{64,}")),
    ShapeRow("Stripe key", ("k_live_", "k_test_"), _token("[sr]k_(live|test)_", "[A-Za-z0-9]{24,}")),
    ShapeRow("SendGrid key", ("sg.",), _token(r"SG\.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}")),
    ShapeRow("Databricks token", ("dapi",), _token("dapi", "[0-9a-f]{32}(-[0-9])?")),
    ShapeRow("Vault token", ("hvs.", "hvb."), _token(r"hv[sb]\.", "[A-Za-z0-9_-]{24,}")),
    ShapeRow("DigitalOcean token", ("_v1_",), _token("do[opr]_v1_", "[0-9a-f]{64}")),
    ShapeRow("Pulumi token", ("pul-",), _token("pul-", "[0-9a-f]{40}")),
)  # fmt: skip

MARKS = tuple(dict.fromkeys(mark for row in SHAPES for mark in row.marks))
_MARK = Marks(MARKS)


def of_shape(text: str, spelled: str = "") -> Iterator[str]:
    """Each secret in the text that is known by its shape, as it stands there or as a word in base64. spelled: the name of the text, by
    `names.named`."""
    lowered = f"{spelled} {text}".lower()
    if _MARK.compiled.search(lowered) is not None:
        yield from _by_rows(text, lowered, spelled)
    for word, inside in in_base64(text) if len(text) >= SHORTEST_WORD else ():
        if next(_by_rows(inside, f"{spelled} {inside}".lower(), spelled), None) is not None:
            yield word


def _by_rows(text: str, lowered: str, spelled: str) -> Iterator[str]:
    """lowered: name and text in lower case."""
    for row in SHAPES:
        for mark in row.marks:
            if mark in lowered:
                yield from row.matches(text, spelled)
                break


@functools.lru_cache(REMEMBERED)
def in_base64(text: str) -> tuple[tuple[str, str], ...]:
    """Each word of the text that is one with a mark in base64, and what it stands for."""
    found = []
    for word in _ENCODED.findall(text)[:MOST_WORDS]:
        parts = (
            part for part in _BETWEEN.split(word) if SHORTEST_WORD <= len(part) < len(word)
        )  # of a path or an option
        for each in (word, *parts):
            inside = _decoded(each)
            if _MARK.compiled.search(inside.lower()) is not None:
                found.append((each, inside))
    return tuple(found)


def _decoded(word: str) -> str:
    """What the word in base64 stands for. A token is found beside bytes that are no text, too."""
    digits = word.rstrip("=")[:LONGEST_WORD]
    whole = digits[:-1] if len(digits) % 4 == 1 else digits  # one digit alone is no byte
    return base64.urlsafe_b64decode(f"{whole}==").decode("ascii", "replace")


def has_shape(text: str, spelled: str = "") -> bool:
    """True if a secret in the text is known by its shape."""
    return next(of_shape(text, spelled), None) is not None
