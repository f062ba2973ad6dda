"""Samples of the names and shapes of secrets."""

from __future__ import annotations

import base64
import json

from trainform.console.secrets import PREFIXES

# No sample stands here in one piece, so that no scanner of repositories takes it for a secret.
ANY = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00123456789abcdeffedcba9876543210"
UUID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
PLAIN = "wJalr" + "XUtnFEMI"
PW = "hunter" + "2"


def of(characters: str, count: int) -> str:
    """So many of the characters, from the start again where they end."""
    return (characters * (count // len(characters) + 1))[:count]


def coded(data: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


LOGIN = base64.b64encode(f"trainer:{PW}".encode()).decode()

# Of the shapes, in the order of `secrets.SHAPES`.
SHAPED: list[list[str]] = [
    [f"-----BEGIN {kind}" + "PRIVATE KEY-----" for kind in ("", "RSA ",
            "OPENSSH ")] + ["PuTTY-User-" + "Key-File-3: ssh-ed25519"],
    ["AGE-SECRET-" + "KEY-1" + of(ANY.upper(), 58)],
    [base64.b64encode(f"-----BEGIN {kind}".encode() + b"PRIVATE KEY-----\nabc").decode() for kind in ("", "RSA ",
            "OPENSSH ", "EC ")],
    [".".join([coded(header), coded({"sub": "trainer"}), of(ANY, 43)]) for header in ({"alg": "HS256"},
            {"typ": "JWT", "alg": "HS256"}, {"kid": "1"})],
    [f"postgres://trainer:{PW}@db.example.com/runs", f"https://:{PW}@example.com"],
    ["https://" + of(ANY, 24) + "@git.example.com/ai/train.git"],
    ["https://runs.blob.example.com/a?sv=2024&sig" + "=" + of(ANY, 43) + "%3D",
        "https://s3.example.com/a?X-Amz-" + "Signature=" + of(HEX, 64)],
    ["Bearer " + of(ANY, 32), "authorization = bearer " + of(HEX, 40)],
    ["Basic " + LOGIN],
    ['{"auths": {"registry.example.com": {"auth"' + f': "{LOGIN}"' + "}}}"],
    [f"machine git.example.com login trainer password {PW}"],
    ["https://hooks.slack.com" + "/services/T0123/B0123/" + of(ANY, 24),
        "https://open.feishu.cn/open-apis/bot/" + "v2/hook/" + UUID],
    ["wandb login " + of(HEX, 40), "wandb login --relogin " + of(HEX, 40)],
]  # fmt: skip
TOKENS = [prefix + of(ANY, 40) for prefix in PREFIXES] + ["sk" + "-" + of(ANY, 48), "sk" + "-ant-api03-" + of(ANY, 90)]
SHAPES = [*TOKENS, *(text for texts in SHAPED for text in texts)]
CHOSEN = [
    "DB_PASSWORD", "PGPASSWORD", "passwd", "MYSQL_PASSWD", "spring.datasource.password", "PASS\u00adWORD",
    "DB_PASSWORD_DEV", "passwordProd",
    "DB_PASS", "redis-pass", "dbPass", "DB_PASS_2", "DB_PWD", "mysqlPwd", "PULUMI_CONFIG_PASSPHRASE", "REDIS_AUTH",
    "_auth", "registryAuth",
]  # fmt: skip
ISSUED = [
    "HF_TOKEN", "git_token", "--hf-token", "hfToken", "example.com/hf-token", "HF_TOKEN_2", "HF_TO\u200bKEN",
    "API_TOKENS", "CLIENT_SECRET",
    "SECRET", "webhookSecret", "SECRET_KEY_BASE", "secretKey", "WANDB_API_KEY", "apiKey", "X-API-Key",
    "OPENAI_API_KEYS", "API_KEY_OLD",
    "AWS_SECRET_ACCESS_KEY", "accessKey", "SSH_PRIVATE_KEY", "AZURE_STORAGE_KEY", "SIGNING_KEY", "KAGGLE_KEY", "hfKey",
    "VOLC_SK",
    "OSS_ACCESS_SK", "GITHUB_PAT", "GOOGLE_CREDENTIALS", "Authorization",
]  # fmt: skip
