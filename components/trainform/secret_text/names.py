"""Names whose values are secrets by the custom of the field."""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from trainform.escaping import without_invisible
from trainform.secret_text.patterns import Marks, Pattern, any_case

# Characters at the end of a name that say what it is the name of; a name has no bound of its own.
LONGEST_NAME = 256


class NameRow(Struct, frozen=True):
    """Names whose values are secrets by the custom of the field.

    mark: a text in lower case that each of the names contains. pattern: what the end of the name is, in words with `_` between them. but: names
    that mean something else. chosen: True if people choose the value, as they do a password: then a number or a short word can be one.
    """

    title: str
    mark: str
    pattern: Pattern
    but: Pattern | None = None
    chosen: bool = False

    def has(self, spelled: str) -> bool:
        """True if the name is one of the row. spelled: by `named`."""
        return _in(self.pattern, spelled) and (self.but is None or not _in(self.but, spelled))


def _in(pattern: Pattern, spelled: str) -> bool:
    return pattern.compiled.search(spelled) is not None


def _ending(words: str) -> Pattern:
    return any_case(rf"(^|_)({words})$")


# Tokens of a tokenizer: --pad-token, --src_token of a translation, and --placeholder_token or --instance_token of a fine-tuned image model.
_TEXT_TOKEN = _ending(
    "(PAD|PADDING|BOS|EOS|EOT|BOT|EOD|EOL|EOF|EOP|BOI|EOI|SOS|SOT|UNK|UNKNOWN|SEP|SEPARATOR|DELIMITER|CLS|MASK|START|BEGIN|END|STOP|SPECIAL|IMAGE|IMG"
    "|VIDEO|VISION|AUDIO|SPEECH|PLACEHOLDER|INITIALIZER|TRIGGER|INSTANCE|CLASS|CONCEPT|MODIFIER|SUBJECT|STYLE|RARE|PROMPT|BLANK|NEWLINE|NEXT"
    "|PREV|PREVIOUS|CURRENT|LAST|FIRST|NEW|PREFIX|MIDDLE|SUFFIX|RESERVED|ADDED|TOOL|THINK|IGNORE|PER|MAX|MIN|NUM|SRC|SOURCE|TGT|TARGET|LANG|LANGUAGE"
    "|TASK|TIMESTAMP|WORD|SENTENCE|CONTINUATION|FILL|REPEAT|DUMMY|EMPTY|PATCH|POINT|BOX|DECODER|ENCODER|LABEL)_TOKEN"
)
# Passes of a program over something: --num-pass, FORWARD_PASS, RENDER_PASS.
_PASS_OF_A_PROGRAM = _ending(
    "(FORWARD|BACKWARD|FIRST|SECOND|THIRD|NEXT|LAST|FINAL|ONE|TWO|SINGLE|MULTI|NUM|LOW|HIGH|BAND|BY|ALL|FULL|PARTIAL|EXTRA|PRE|POST|RENDER|DEPTH|COLOU?R"
    "|SHADOW|LIGHT|GEOMETRY|BEAUTY|DIFFUSE|SPECULAR|GRAPH|COMPILER?|OPT|OPTIMI[SZ]ATION|FUSION|LOWERING|QUANT|TRAIN|TRAINING|EVAL|INFERENCE"
    "|WARMUP|VALIDATION|REFINE|DENOISE)_PASS"
)
_SERVICES = (
    "KAGGLE|HF|HUGGING_?FACE|WANDB|OPEN_?AI|AZURE_OPENAI|ANTHROPIC|CLAUDE|GEMINI|GOOGLE|GROQ|XAI|GROK|COHERE|MISTRAL|TOGETHER|FIREWORKS|REPLICATE|DEEP_?SEEK"
    "|DASH_?SCOPE|QWEN|MOONSHOT|ZHIPU|OPEN_?ROUTER|PERPLEXITY|PPLX|TAVILY|SERPER|LANG_?SMITH|LANG_?CHAIN|COMET|NEPTUNE|CLEARML|NGC|NVIDIA|NVAPI|MODEL_?SCOPE"
    "|SWANLAB|GITHUB|GITLAB|SLACK|AZURE|GRAFANA|DATADOG|DD"
)
_CLOUDS = "VOLC|VOLCENGINE|TOS|BCE|BAIDU|BOS|ALIYUN|ALIBABA|OSS|TENCENT|COS|HUAWEI|HUAWEICLOUD|OBS|QINIU|S3|AWS|MINIO"

NAMES: tuple[NameRow, ...] = (
    NameRow("password", "passw", any_case("PASSWO?R?DS?$"), chosen=True),
    NameRow("pass", "pass", _ending(r"\w+_PASS"), _PASS_OF_A_PROGRAM, chosen=True),
    NameRow("pwd", "pwd", _ending("PWD"), chosen=True),
    NameRow("passphrase", "pass", _ending("PASS(PHRASE|CODE)"), chosen=True),
    NameRow("login of a server", "auth", _ending("((REDIS|REDISCLI|NEO4_?J|BASIC|DOCKER|REGISTRY|NPM|SMTP|MQTT)_AUTH|_AUTH)"), chosen=True),
    NameRow("token", "token", _ending("TOKEN"), _TEXT_TOKEN),
    NameRow("tokens", "tokens", _ending("(ACCESS|API|AUTH|BEARER|REFRESH)_TOKENS")),
    NameRow("secret", "secret", _ending("SECRET")),
    NameRow("secret key", "secret", _ending("SECRET_?KEY(_BASE)?")),
    NameRow("api key", "key", _ending("API_?KEYS?")),
    NameRow("access key", "key", _ending("ACCESS_?KEY")),
    NameRow("private key", "key", _ending("PRIVATE_?KEY")),
    NameRow("account key", "key", _ending("(ACCOUNT|STORAGE|SHARED)_KEY")),
    NameRow("signing key", "key", _ending("(SIGNING|ENCRYPTION|MASTER|AUTH|FERNET)_KEY")),
    NameRow("key of a service", "key", _ending(f"({_SERVICES})_KEYS?")),
    NameRow("key of a cloud", "sk", _ending(f"({_CLOUDS})_(ACCESS_)?SK")),
    NameRow("personal access token", "pat", _ending("(GITHUB|GH|GITLAB|GIT|AZURE|AZURE_DEVOPS|ADO|BITBUCKET|DOCKER|DOCKER_?HUB|DATABRICKS)_PAT")),
    NameRow("credentials", "credential", _ending("CREDENTIALS?")),
    NameRow("authorization", "authorization", _ending("AUTHORIZATION")),
)  # fmt: skip

_MARK = Marks(tuple(row.mark for row in NAMES))
_WORDS = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
# What stands behind a name for one of several: HF_TOKEN_2, DB_PASSWORD_DEV.
_ONE_OF_SEVERAL = re.compile(
    r"(_?[0-9]+|_(DEV|DEVELOPMENT|PROD|PRODUCTION|STAGE|STAGING|TEST|QA|UAT|CI|LOCAL|OLD|NEW|BACKUP|PRIMARY|SECONDARY|PREVIOUS|DEFAULT"
    r"|VALUE))$",
    re.IGNORECASE,
)


@functools.lru_cache(maxsize=4096)  # an object has the same few names many times
def named(name: str) -> tuple[str, tuple[NameRow, ...]]:
    """The name as variables are spelled, and the rows of names that it has."""
    spelled = _spelled(name)
    if _MARK.compiled.search(spelled.lower()) is None:
        return spelled, ()
    several = _ONE_OF_SEVERAL.sub("", _ONE_OF_SEVERAL.sub("", spelled))
    lowered = several.lower()
    return spelled, tuple(row for row in NAMES if row.mark in lowered and row.has(several))


def _spelled(name: str) -> str:
    """`--hf-token`, `hfToken` and `example.com/hf-token` as variables are spelled: with underscores."""
    return "_".join(_WORDS.split(without_invisible(name[-LONGEST_NAME:])))
