"""The tables of secrets: a sample for each row, and a list of texts that counts what is found by mistake and what is missed."""

from __future__ import annotations

import base64
import json
import time

import pytest

from trainform import secret_text
from trainform.secret_text import NAMES, SHAPES, gives_away, masked, masked_line, secret_in, secret_words

# No sample stands here in one piece, so that no scanner of repositories takes it for a secret.
ANY = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00123456789abcdeffedcba9876543210"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def of(characters: str, count: int) -> str:
    """So many of the characters, from the start again where they end."""
    return (characters * (count // len(characters) + 1))[:count]


def coded(data: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).decode().rstrip("=")


LOGIN = base64.b64encode(b"trainer:hunter2").decode()
JWT = ".".join([coded({"alg": "HS256", "typ": "JWT"}), coded({"sub": "trainer"}), of(ANY, 43)])

# Title of a row -> texts that it finds, and no other row.
SAMPLES: dict[str, list[str]] = {
    "password in an address": ["postgres://trainer:" + "hunter2@db.example.com/runs", "https://:" + "hunter2@example.com"],
    "secret in a query": ["https://h/a?access_token=" + of(ANY, 20), "https://h/a?x=1&api_key=" + of(ANY, 20)],
    "private key": ["-----BEGIN OPENSSH " + "PRIVATE KEY-----\nabc", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----"],
    "body of an OpenSSH private key": ["b3BlbnNzaC1r" + "ZXktdjEAAAAABG5vbmU1234"],
    "PuTTY private key": ["PuTTY-User-" + "Key-File-3: ssh-ed25519"],
    "age identity": ["AGE-SECRET-" + "KEY-1" + of(UPPER, 58)],
    "Hugging Face token": ["hf" + "_" + of(ANY, 34)],
    "Hugging Face organization token": ["api" + "_org_" + of(ANY, 34)],
    "GitHub token": [f"gh{kind}" + "_" + of(ANY, 36) for kind in "posur"],
    "fine-grained GitHub token": ["github" + "_pat_" + of(ANY, 22) + "_" + of(ANY, 59)],
    "GitLab token": [f"gl{kind}" + "-" + of(ANY, 20) for kind in ("pat", "dt", "rt", "ptt", "cbt", "ft", "soat", "agent")],
    "OpenAI key": ["sk" + "-" + of(ANY, 48)],
    "DeepSeek or DashScope key": ["sk" + "-" + of(HEX, 32)],
    "OpenAI key of a project": [f"sk-{kind}" + "-" + of(ANY, 70) for kind in ("proj", "svcacct", "admin")],
    "Anthropic key": ["sk" + "-ant-api03-" + of(ANY, 90)],
    "OpenRouter key": ["sk" + "-or-v1-" + of(HEX, 64)],
    "Groq key": ["gsk" + "_" + of(ANY, 52)],
    "NVIDIA key": ["nvapi" + "-" + of(ANY, 64)],
    "Replicate token": ["r8" + "_" + of(ANY, 37)],
    "Slack token": [f"xox{kind}" + "-123456789012-" + of(ANY, 24) for kind in "abeprs"],
    "Slack token of an app": ["xapp" + "-1-A012345-" + of(HEX, 30)],
    "Slack webhook": ["https://hooks.slack.com" + "/services/T0123/B0123/" + of(ANY, 24)],
    "AWS key id": ["AKI" + "A" + of(UPPER, 16), "ASI" + "A" + of(UPPER, 16)],
    "Google key": ["AI" + "za" + of(ANY, 35)],
    "Google access token": ["ya29" + "." + of(ANY, 60)],
    "Google client secret": ["GOC" + "SPX-" + of(ANY, 28)],
    "JSON web token": [JWT],
    "bearer token": ["Bearer " + of(ANY, 32), "authorization = bearer " + of(HEX, 40)],
    "basic login": ["Basic " + LOGIN],
    "login of a registry": ['{"auths": {"registry.example.com": {"auth"' + f': "{LOGIN}"' + "}}}"],
    "login in .netrc": ["machine git.example.com login trainer " + "password hunter2"],
    "npm token": ["npm" + "_" + of(ANY, 36)],
    "PyPI token": ["pypi" + "-AgEIcHlwaS5vcmc" + of(ANY, 60)],
    "Docker token": ["dckr" + "_pat_" + of(ANY, 27), "dckr" + "_oat_" + of(ANY, 32)],
    "Weights & Biases key of version 1": ["wandb" + "_v1_" + of(ANY, 77)],
    "Baidu Cloud key": ["bce" + "-v3/ALTAK-" + of(ANY, 21) + "/" + of(HEX, 40)],
    "Weights & Biases login": ["wandb login " + of(HEX, 40), "wandb login --relogin " + of(HEX, 40)],
    "connection string": [
        "AccountName=runs;Account" + "Key=" + of(ANY, 40) + "==;EndpointSuffix=core",
        "Server=db;User=trainer;Pwd" + "=hunter2",
    ],
    "Azure shared access signature": ["https://runs.blob.example.com/a?sv=2024&sig" + "=" + of(ANY, 43) + "%3D"],
    "signed URL": ["https://s3.example.com/a?X-Amz-" + "Signature=" + of(HEX, 64), "https://g/a?X-Goog-" + "Signature=" + of(HEX, 512)],
    "Stripe key": ["sk" + "_live_" + of(ANY, 24), "rk" + "_test_" + of(ANY, 24)],
    "SendGrid key": ["SG" + "." + of(ANY, 22) + "." + of(ANY, 43)],
    "Databricks token": ["dapi" + of(HEX, 32), "dapi" + of(HEX, 32) + "-2"],
    "Vault token": ["hvs" + "." + of(ANY, 24), "hvb" + "." + of(ANY, 100)],
    "DigitalOcean token": [f"do{kind}" + "_v1_" + of(HEX, 64) for kind in "opr"],
    "Pulumi token": ["pul" + "-" + of(HEX, 40)],
}  # fmt: skip
# Names, each with a value that has no shape; the values of these rows alone are secrets by their name.
NAMED: dict[str, list[str]] = {
    "password": ["DB_PASSWORD", "PGPASSWORD", "passwd", "password", "MYSQL_PASSWD", "spring.datasource.password", "PASS\u00adWORD"],
    "pass": ["DB_PASS", "SMTP_PASS", "redis-pass", "MYSQL_ROOT_PASS", "dbPass", "DB_PASS_2"],
    "pwd": ["DB_PWD", "pwd", "mysqlPwd"],
    "passphrase": ["PULUMI_CONFIG_PASSPHRASE", "passphrase"],
    "token": ["HF_TOKEN", "TOKEN", "git_token", "--hf-token", "hfToken", "example.com/hf-token", "HF_TOKEN_2", "HF_TO\u200bKEN", "AWS_SESSION_TOKEN"],
    "secret": ["CLIENT_SECRET", "secret", "webhookSecret"],
    "secret key": ["MINIO_SECRET_KEY", "SECRET_KEY_BASE", "secretKey"],
    "api key": ["WANDB_API_KEY", "WANDB_APIKEY", "apiKey", "COMET_API_KEY", "OPENAI_API_KEY"],
    "access key": ["AWS_SECRET_ACCESS_KEY", "MINIO_ACCESS_KEY", "accessKey"],
    "private key": ["SSH_PRIVATE_KEY", "privateKey"],
    "account key": ["AZURE_STORAGE_KEY", "accountKey", "SHARED_KEY"],
    "signing key": ["SIGNING_KEY", "ENCRYPTION_KEY", "VAULT_MASTER_KEY", "TS_AUTH_KEY"],
    "kaggle key": ["KAGGLE_KEY"],
    "credentials": ["GOOGLE_CREDENTIALS", "DB_CREDENTIAL"],
    "authorization": ["Authorization", "HTTP_AUTHORIZATION"],
}  # fmt: skip
WANDB = "Weights & Biases key"
PLAIN = "wJalr" + "XUtnFEMI"


def test_every_row_has_samples() -> None:
    assert [row.title for row in SHAPES if row.title not in SAMPLES] == [WANDB]
    assert [row.title for row in NAMES if row.title not in NAMED] == []
    assert (len({row.title for row in SHAPES}), len({row.title for row in NAMES})) == (len(SHAPES), len(NAMES))


@pytest.mark.parametrize(("title", "text"), [(title, text) for title, texts in SAMPLES.items() for text in texts])
def test_a_shape(title: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a name that says nothing, within a sentence, and in the words of a command; without its row it is not found."""
    for around in (text, f"see {text} there", f"a: 1\nb: {text}\n", f"'{text}'"):
        assert gives_away("VALUE", around), around
        assert secret_words(["run", around]).keys() == {1}
        assert text not in masked(around, "[secret]")
    monkeypatch.setattr(secret_text, "SHAPES", tuple(row for row in SHAPES if row.title != title))
    assert not gives_away("VALUE", text)


@pytest.mark.parametrize(("title", "name"), [(title, name) for title, names in NAMED.items() for name in names])
def test_a_name(title: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gives_away(name, PLAIN)
    assert not gives_away(name, "$(OTHER)")
    assert not gives_away(name, "/run/secrets/file")
    assert gives_away(name, "20260101") is next(row.numbers for row in NAMES if row.title == title)
    monkeypatch.setattr(secret_text, "NAMES", tuple(row for row in NAMES if row.title != title))
    monkeypatch.setattr(secret_text, "_named", secret_text._named.__wrapped__)  # nothing from before
    assert not gives_away(name, PLAIN)


def test_a_key_of_weights_and_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 hexadecimal digits are the hash of a commit too."""
    digits = of(HEX, 40)
    assert gives_away("WANDB", digits)
    assert gives_away("WANDB_LOGIN", digits)
    assert not any(gives_away(name, digits) for name in ("REVISION", "WANDB_GIT_COMMIT", "WANDB_RUN_ID", "WANDB_TAG"))
    monkeypatch.setattr(secret_text, "SHAPES", tuple(row for row in SHAPES if row.title != WANDB))
    assert not gives_away("WANDB", digits)


@pytest.mark.parametrize("title", [title for title in SAMPLES if title not in {"private key", "PuTTY private key"}])
def test_a_shape_has_a_fewest_number_of_characters(title: str) -> None:
    """A prefix is no secret."""
    row = next(row for row in SHAPES if row.title == title)
    for text in SAMPLES[title]:
        (whole,) = row.matches(text, text.lower(), "")
        begin = whole[: min(12, len(whole) * 3 // 4)]
        assert not [*row.matches(begin, begin.lower(), "")]


@pytest.mark.parametrize("prefix", ["hf_", "ghp_", "sk-", "sk-ant-api03-", "npm_", "glpat-", "xoxb-", "AKIA", "AIza", "nvapi-", "gsk_"])  # fmt: skip
def test_what_stands_for_a_token_in_a_text_is_none(prefix: str) -> None:
    assert not gives_away("VALUE", prefix + "x" * 60)
    assert not gives_away("VALUE", prefix + "…")


# Name and text: what experiments, charts and programs of this field really hold, and no secret is in it.
HARMLESS: list[tuple[str, str]] = [
    *(("args", text) for text in [
        "--pad-token <pad>", "--pad_token=[PAD]", "--eos-token '<|endoftext|>'", "--bos_token=<s>", "--unk-token [UNK]", "--mask_token <mask>",
        "--cls-token [CLS]", "--sep-token [SEP]", "--image-token <image>", "--placeholder_token sks", "--initializer_token dog", "--stop-token '###'",
        "--trigger_token ohwx", "--class-token person", "--eot-token '<|eot_id|>'", "--start_token 50258", "--prefix-token fim", "--new-token foo",
        "--tokenizer bert-base-uncased", "--tokenizer-path /mnt/tok", "--max-tokens 4096", "--max-token=4096", "--max_new_tokens 128", "--num-tokens 1e9",
        "--tokens-per-batch 8192", "--token-file /run/token", "--tokens_per_sample 512", "--use-auth-token", "--use-auth-token True", "--token",
        "--hf-token $(HF_TOKEN)", "--hf-token=$(HF_TOKEN)", '--hf-token "$HF_TOKEN"', "--password ${PASSWORD}", "--password /run/secrets/password",
        "HF_TOKEN=$(cat /run/secrets/token) train", "export DB_PASS=$(DB_PASS)", "pwd", "cd $(pwd) && train", "PWD=/app python train.py", "--pass 2",
        "--num-pass 3", "--forward-pass full", "--two-pass yes", "--secret-name hf", "--key-file /a/b", "--key timestamp", "--sort-key loss",
        "--primary-key id", "--monitor val_loss", "pip install sk-learn", "pip install scikit-learn hf_transfer", "pip install 'sk-video>=1.1'",
        "python -m hf_transfer_benchmark_of_all_the_files_there", "huggingface-cli login --token $HF_TOKEN", "wandb login $WANDB_API_KEY", "wandb login",
        "git clone https://github.com/huggingface/transformers", "git clone git@github.com:ai/resnet.git", "git checkout " + of(HEX, 40),
        "curl -H 'Authorization: Bearer $TOKEN' https://h/a", 'curl -H "Authorization: Bearer $(TOKEN)" https://h', "npm_config_cache=/tmp/npm npm ci",
        "echo Basic configuration of the trainer", "echo Bearer of good news", "echo Basic authentication is off", "ssh -i /root/.ssh/id_ed25519 host",
        "openssl req -new -key /tls/server.key", "disk-0123456789abcdefghijklmnopqrstuvwxyz0123456789", "--run task-" + of(ANY, 44),
        "https://s3.example.com/data?list-type=2&prefix=train", "https://h/a?key=name&token=$(TOKEN)", "https://h/api?page_token=", "s3://bucket/tokens/a.bin",
        "https://example.com:8443/a@b", "https://[::1]:8443/a@b", "https://trainer:$(TOKEN)@git.example.com/a.git", "https://git@github.com/a/b",
        "redis://redis:6379/0", "postgres://db.example.com/runs", "tcp://10.0.0.1:2379", "file:///mnt/data", "unix:///var/run/docker.sock",
    ]),
    *(("script", text) for text in [
        'tokenizer.add_special_tokens({"pad_token": "<pad>"})', "tokenizer.pad_token = tokenizer.eos_token", 'login(token=os.environ["HF_TOKEN"])',
        'token = os.getenv("HF_TOKEN")', "def f(password: str, token: str | None = None) -> None: ...", 'parser.add_argument("--api-key", default=None)',
        "api_key = config.api_key", "token = next(tokens)", 'password="$DB_PASS"', "secret = read_secret(path)", 'f"https://{user}:{password}@host"'.replace("https://{user}:{password}@", "{url}"),
        "-----BEGIN CERTIFICATE-----\nMIIB", "-----BEGIN PUBLIC KEY-----\nMIIB", "-----BEGIN OPENSSH PUBLIC KEY-----", "secret:\n  secretName: hf\n  optional: true",
        "env: {HF_TOKEN: {secret: {name: hf, key: token}}}", "valueFrom:\n  secretKeyRef:\n    name: hf\n    key: token", "imagePullSecrets:\n- name: registry",
        "eos_token: <|im_end|>", "pad_token_id: 0", "bos_token_id: 128000", "special_tokens: [<s>, </s>]", "max_tokens: 4096", "token_type: bpe",
    ]),
    ("HF_HUB_ENABLE_HF_TRANSFER", "1"), ("MAX_TOKENS", "4096"), ("TOKENIZERS_PARALLELISM", "false"), ("NUM_TOKENS", "300B"), ("EOS_TOKEN", "<|endoftext|>"),
    ("PAD_TOKEN", "!"), ("IMAGE_TOKEN", "<image>"), ("MAX_TOKEN", "4096"), ("TOKEN", "0"), ("HF_TOKEN", ""), ("HF_TOKEN", "$(OTHER)"), ("HF_TOKEN", "${OTHER}"),
    ("HF_TOKEN", "{{ .Values.token }}"), ("HF_TOKEN", "%s"), ("HF_TOKEN", "<your token>"), ("HF_TOKEN", "[secret]"), ("HF_TOKEN", "***"), ("HF_TOKEN", "..."),
    ("HF_TOKEN_PATH", "/run/secrets/token"), ("TOKEN_FILE", "token"), ("PASSWORD_FILE", "pw"), ("SECRET_NAME", "hf"), ("secretName", "hf-token"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/run/secrets/gcp.json"), ("DB_PASS", "$(DB_PASS)"), ("DB_PASS", "`cat /run/pw`"), ("PASSWORD", "/run/secrets/password"),
    ("PWD", "/app"), ("OLDPWD", "/"), ("PWD", "."), ("COMPASS", "north"), ("BYPASS", "proxy"), ("FORWARD_PASS", "full"), ("BAND_PASS", "low"), ("ENCOMPASS", "x"),
    ("KEY", "value"), ("MONKEY", "see"), ("SECRETARY", "Ada"), ("TOKENIZER", "bert"), ("SORT_KEY", "loss"), ("PARTITION_KEY", "day"), ("key", "token"), ("PUBLIC_KEY", "ssh-ed25519 AAAAC3"),
    ("KEYBOARD", "us"), ("AWS_REGION", "eu-central-1"), ("AWS_PROFILE", "dev"), ("AUTHOR", "Ada"), ("AUTHORIZATION", "Bearer $(TOKEN)"), ("authorization", "${AUTH}"),
    ("WANDB_PROJECT", "sdxl-lora"), ("WANDB_MODE", "offline"), ("WANDB_GIT_COMMIT", of(HEX, 40)), ("WANDB_ENTITY", "vision"), ("COMMIT", of(HEX, 40)), ("COMMIT", of(HEX, 64)),
    ("image", "registry.example.com/ai/pytorch@sha256:" + of(HEX, 64)), ("image", "localhost:5000/sk-learn:1.0"), ("digest", "sha256:" + of(HEX, 64)),
    ("uid", "123e4567-e89b-12d3-a456-426614174000"), ("checksum", of(HEX, 32)), ("path", "/mnt/hf_cache/models--meta-llama--Llama-3/snapshots/" + of(HEX, 40)),
    ("NCCL_DEBUG", "INFO"), ("NCCL_IB_HCA", "mlx5_0,mlx5_1"), ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64:/opt/amazon/efa/lib"), ("PYTHONPATH", "/code:/opt/pypi-mirror"),
    ("MODEL", "meta-llama/Meta-Llama-3-8B-Instruct"), ("DATASET", "mc4/en"), ("name", "sk-proj-trainer"), ("name", "hf-token"), ("name", "ghp-runner"), ("queue", "npm_builds"),
    ("NAME", "AKIAPOLLO"), ("NAME", "ASIATICA"), ("MASTER_ADDR", "sdxl-lora-master-0.sdxl-lora"), ("kubernetes.io/service-account.name", "default"),
    ("example.com/tokenizer", "bert"), ("volumeAttributes", "csi.example.com"), ("secretProviderClass", "vault"), ("keyring", "/etc/ceph/keyring"),
    ("DOCS", "see http://a and b@c"), ("MAIL", "ada@example.com"), ("JWT", "eyJ.a.b"), ("VERSION", "1.2.3"), ("TEXT", coded({"a": 1}) + "." + of(ANY, 20) + "." + of(ANY, 20)),
    ("SSH", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA" + of(ANY, 30) + " trainer@host"), ("HOSTS", "git.example.com ssh-rsa AAAAB3NzaC1yc2E" + of(ANY, 60)),
    ("X", "Password=;User=a"), ("X", "Password=$(DB_PASS);User=a"), ("X", "machine h login u password $TOKEN"), ("X", '{"auth": "none"}'), ("X", "auth: basic"),
    ("X", "dapibus"), ("X", "sg.example.com"), ("X", "hvs.example.com"), ("X", "pul-request"), ("X", "xoxo-hugs-and-kisses-from-me"), ("X", "do_v1_x"), ("X", "ya29.example.com"),
]  # fmt: skip
SECRET: list[tuple[str, str]] = [
    *(("VALUE", text) for texts in SAMPLES.values() for text in texts),
    *((name, PLAIN) for names in NAMED.values() for name in names),
    ("WANDB", of(HEX, 40)),
    ("DB_PASS", "20260101"),
    *(("args", text) for text in [
        f"--hf-token {PLAIN}", f"--hf_token={PLAIN}", f"--api-key '{PLAIN}'", f"-password={PLAIN}", f"++wandb.api_key={PLAIN}", f"HF_TOKEN={PLAIN} python a.py",
        f"export DB_PASS='{PLAIN}'; train", f"sh -c 'train --token {PLAIN}'", f"host=db password={PLAIN} dbname=runs", f"mysql --user a --password {PLAIN}",
        f'login(token="{PLAIN}")', f"client = Client(api_key='{PLAIN}')", f'{{"password": "{PLAIN}"}}', f"lr: 1\ndb_pass: {PLAIN}9\n", f'api_key = "{PLAIN}"',
        f"secret: '{PLAIN}'\n", f"  - token: {PLAIN}7\n", f'"hfToken": "{PLAIN}"',
    ]),
]  # fmt: skip


def found(name: str, text: str) -> bool:
    return gives_away(name, text) or secret_in(text) is not None


def test_nothing_is_found_by_mistake_and_nothing_is_missed() -> None:
    """0 of the harmless texts, all of the secrets."""
    assert len(HARMLESS) >= 200
    assert len(SECRET) >= 130
    assert len(set(HARMLESS)) == len(HARMLESS)
    assert [entry for entry in HARMLESS if found(*entry)] == []
    assert [entry for entry in SECRET if not found(*entry)] == []


@pytest.mark.parametrize(
    "text",
    ["wandb login " + "--aa " * 20_000 + "x", "pwd=" * 20_000, "token " + "a-" * 20_000, "token sk-ant-" + "sk-ant-" * 10_000, "--" + "A_" * 20_000 + "1 x token"],
    ids=["switches", "assignments", "dashes", "prefixes", "a long name"],
)  # fmt: skip
def test_a_text_is_read_in_a_time_that_grows_with_its_length_alone(text: str) -> None:
    before = time.process_time()
    secret_in(text)
    assert time.process_time() - before < 2  # it takes less than 0.2 s


@pytest.mark.parametrize(
    "text", ['--password="two words"', "wandb login --relogin --host h -v", '- token: "a b c d e"']
)
def test_dashes_before_a_name_change_nothing(text: str) -> None:
    assert (secret_in(text) is None) == text.startswith("wandb")


@pytest.mark.parametrize(
    "text",
    [
        "git clone https://user:${HF_TOKEN}@git.example.com/a/b",
        "http://$USER:$PASS@proxy:80",
        "login(token=os.environ['HF_TOKEN'])",
        "token=os.environ.get('HF_TOKEN')",
        "python -c \"token=os.getenv('HF_TOKEN', '')\"",
    ],
)
def test_what_reads_a_secret_from_a_variable_is_none(text: str) -> None:
    assert secret_in(text) is None


def test_a_default_beside_a_variable_is_a_secret() -> None:
    assert secret_in("postgres://u:$" + "ecret-of-mine1@h/db") is not None


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("python train.py  --hf-token hunter2 --lr 0.1", "python train.py  --hf-token [secret] --lr 0.1"),
        ("export PASSWORD='hunter2'; run", "export [secret] run"),
        (
            "login to postgres://trainer:" + "hunter2@db.example.com/runs",
            "login to postgres[secret]db.example.com/runs",
        ),
        ("password: hunter2", "[secret]"),
        ("a line without any", "a line without any"),
        ("", ""),
    ],
)
def test_a_line_is_shown_without_its_secrets(line: str, shown: str) -> None:
    assert masked_line(line, "[secret]") == shown
    assert secret_in(shown) is None
