"""A sample for each row of the tables of secrets."""

from __future__ import annotations

import base64
import json

# No sample stands here in one piece, so that no scanner of repositories takes it for a secret.
ANY = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00123456789abcdeffedcba9876543210"
UUID = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"
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
    "token in an address": ["https://" + of(ANY, 24) + "@git.example.com/ai/train.git"],
    "secret in a query": ["https://h/a?access_token=" + of(ANY, 20), "https://h/a?x=1&api_key=" + of(ANY, 20)],
    "private key": ["-----BEGIN OPENSSH " + "PRIVATE KEY-----\nabc", "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----"],
    "body of an OpenSSH private key": ["b3BlbnNzaC1r" + "ZXktdjEAAAAABG5vbmU1234"],
    "PuTTY private key": ["PuTTY-User-" + "Key-File-3: ssh-ed25519"],
    "age identity": ["AGE-SECRET-" + "KEY-1" + of(UPPER, 58)],
    "Hugging Face token": ["hf" + "_" + of(ANY, 34)],
    "Hugging Face organization token": ["api" + "_org_" + of(ANY, 34)],
    "GitHub token": [f"gh{kind}" + "_" + of(ANY, 36) for kind in "posur"],
    "fine-grained GitHub token": ["github" + "_pat_" + of(ANY, 22) + "_" + of(ANY, 59)],
    "GitLab token": [f"gl{kind}" + "-" + of(ANY, 20) for kind in ("pat", "dt", "rt", "rtr", "ptt", "cbt", "ft", "soat", "agent")],
    "OpenAI key": ["sk" + "-" + of(ANY, 48)],
    "DeepSeek or DashScope key": ["sk" + "-" + of(HEX, 32)],
    "OpenAI key of a project": [f"sk-{kind}" + "-" + of(ANY, 70) for kind in ("proj", "svcacct", "admin")],
    "Anthropic key": ["sk" + "-ant-api03-" + of(ANY, 90)],
    "Langfuse key": ["sk" + "-lf-" + UUID],
    "LangSmith key": [f"lsv2_{kind}" + "_" + of(HEX, 32) + "_" + of(HEX, 10) for kind in ("pt", "sk")],
    "OpenRouter key": ["sk" + "-or-v1-" + of(HEX, 64)],
    "Groq key": ["gsk" + "_" + of(ANY, 52)],
    "xAI key": ["xai" + "-" + of(ANY, 80)],
    "Perplexity key": ["pplx" + "-" + of(ANY, 48)],
    "Cerebras key": ["csk" + "-" + of(ANY.lower(), 48)],
    "Together key": ["tgp" + "_v1_" + of(ANY, 43)],
    "Tavily key": ["tvly" + "-" + of(ANY, 32), "tvly" + "-dev-" + of(ANY, 32)],
    "Jina key": ["jina" + "_" + of(ANY, 60)],
    "Pinecone key": ["pcsk" + "_" + of(ANY, 70)],
    "RunPod key": ["rpa" + "_" + of(UPPER, 40) + "a1b2c3"],
    "ModelScope token": ["ms" + "-" + UUID],
    "Kaggle token": ["KGA" + "T_" + of(HEX, 32)],
    "Neptune token": [coded({"api_" + "address": "https://app.neptune.example.com", "api_key": of(HEX, 32)})],
    "Prefect key": ["pnu" + "_" + of(ANY, 36)],
    "Grafana token": ["glsa" + "_" + of(ANY, 32) + "_" + of(HEX, 8), "glc" + "_" + of(ANY, 120) + "="],
    "Sentry token": ["sntrys" + "_" + of(ANY, 100)],
    "Tailscale key": ["tskey" + "-auth-" + of(ANY, 12) + "-" + of(ANY, 32)],
    "Terraform token": [of(ANY, 14) + ".atlas" + "v1." + of(ANY, 67)],
    "1Password token": ["ops" + "_eyJ" + of(ANY, 200)],
    "Artifactory token": ["cmVm" + "dGtu" + of(ANY, 56), "AK" + "Cp" + of(ANY, 69)],
    "Atlassian token": ["ATAT" + "T3" + of(ANY, 180) + "=1A2B3C4D", "AT" + "BB" + of(ANY, 32)],
    "NVIDIA key": ["nvapi" + "-" + of(ANY, 64)],
    "Replicate token": ["r8" + "_" + of(ANY, 37)],
    "Slack token": [f"xox{kind}" + "-123456789012-" + of(ANY, 24) for kind in "abeprs"],
    "Slack token of an app": ["xapp" + "-1-A012345-" + of(HEX, 30)],
    "Slack webhook": ["https://hooks.slack.com" + "/services/T0123/B0123/" + of(ANY, 24)],
    "webhook of a chat": [
        "https://discord.com/api/" + "webhooks/123456789012345678/" + of(ANY, 68),
        f"https://a.webhook.office.com/webhookb2/{UUID}@{UUID}/Incoming" + "Webhook/" + of(HEX, 32) + "/a",
        "https://open.feishu.cn/open-apis/bot/" + "v2/hook/" + UUID,
        "https://qyapi.weixin.qq.com/cgi-bin/webhook/" + "send?key=" + UUID,
    ],
    "Telegram token": ["bot" + "1234567890" + ":AA" + of(ANY, 33)],
    "AWS key id": ["AKI" + "A" + of(UPPER, 16), "ASI" + "A" + of(UPPER, 16)],
    "AWS session token": ["IQoJb3" + "JpZ2lu" + of(ANY, 120), "FwoGZX" + "IvYXdz" + of(ANY, 120) + "=="],
    "AWS Bedrock key": ["AB" + "SK" + of(ANY, 110) + "=", "bedrock-" + "api-key-" + of(ANY, 100)],
    "Google key": ["AI" + "za" + of(ANY, 35)],
    "Google access token": ["ya29" + "." + of(ANY, 60)],
    "Google client secret": ["GOC" + "SPX-" + of(ANY, 28)],
    "Google refresh token": ["1/" + "/0" + of(ANY, 60)],
    "Google HMAC key": ["GOO" + "G1E" + of(UPPER, 57)],
    "Azure client secret": ["aB3" + "8Q~" + of(ANY, 34)],
    "Azure key": [of(ANY, 76) + "AZ" + "DOaB3d", of(ANY, 52) + "JQQJ" + "99" + of(ANY, 26), of(ANY, 76) + "+A" + "StaB3dE5=="],
    "Alibaba Cloud key id": ["LTA" + "I" + of(ANY, 20), "LTA" + "I" + of(ANY, 12)],
    "Volcengine key id": ["AKL" + "T" + of(ANY, 43)],
    "Tencent Cloud key id": ["AKI" + "D" + of(ANY, 32)],
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
    "Baidu Cloud key id": ["ALTA" + "K" + of(ANY, 21), "ALTA" + "K-" + of(ANY, 21)],
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
    "password": ["DB_PASSWORD", "PGPASSWORD", "passwd", "password", "MYSQL_PASSWD", "spring.datasource.password", "PASS\u00adWORD", "PASSWORDS", "DB_PASSWORD_DEV", "passwordProd"],
    "pass": ["DB_PASS", "SMTP_PASS", "redis-pass", "MYSQL_ROOT_PASS", "dbPass", "DB_PASS_2"],
    "pwd": ["DB_PWD", "pwd", "mysqlPwd"],
    "passphrase": ["PULUMI_CONFIG_PASSPHRASE", "passphrase", "CERT_PASSCODE"],
    "login of a server": ["REDIS_AUTH", "REDISCLI_AUTH", "NEO4J_AUTH", "_auth", "registryAuth"],
    "token": ["HF_TOKEN", "TOKEN", "git_token", "--hf-token", "hfToken", "example.com/hf-token", "HF_TOKEN_2", "HF_TO\u200bKEN", "AWS_SESSION_TOKEN", "PRIVATE-TOKEN", "HF_TOKEN_PROD"],
    "tokens": ["API_TOKENS", "accessTokens"],
    "secret": ["CLIENT_SECRET", "secret", "webhookSecret"],
    "secret key": ["MINIO_SECRET_KEY", "SECRET_KEY_BASE", "secretKey", "VOLC_SECRETKEY"],
    "api key": ["WANDB_API_KEY", "WANDB_APIKEY", "apiKey", "COMET_API_KEY", "OPENAI_API_KEY", "X-API-Key", "OPENAI_API_KEYS", "API_KEY_OLD"],
    "access key": ["AWS_SECRET_ACCESS_KEY", "MINIO_ACCESS_KEY", "accessKey", "VOLC_ACCESSKEY"],
    "private key": ["SSH_PRIVATE_KEY", "privateKey"],
    "account key": ["AZURE_STORAGE_KEY", "accountKey", "SHARED_KEY"],
    "signing key": ["SIGNING_KEY", "ENCRYPTION_KEY", "VAULT_MASTER_KEY", "TS_AUTH_KEY", "FERNET_KEY"],
    "key of a service": ["KAGGLE_KEY", "HF_KEY", "hfKey", "WANDB_KEY", "OPENAI_KEY", "DASHSCOPE_KEY"],
    "key of a cloud": ["VOLC_SK", "BCE_SK", "OSS_ACCESS_SK"],
    "personal access token": ["GITHUB_PAT", "gh-pat", "AZURE_DEVOPS_PAT"],
    "credentials": ["GOOGLE_CREDENTIALS", "DB_CREDENTIAL"],
    "authorization": ["Authorization", "HTTP_AUTHORIZATION"],
}  # fmt: skip
WANDB = "Weights & Biases key"
PLAIN = "wJalr" + "XUtnFEMI"
# Words of commands, each of which has a password at its place; `hunter2` stands in each of them.
PW = "hunter" + "2"
COMMANDS: dict[str, list[str]] = {
    "user of curl": [f"curl -u trainer:{PW} https://h/a", f"curl -sSfLu trainer:{PW} https://h/a", f"curl --user trainer:{PW} -O https://h/a",
                     f"curl https://h/a --proxy-user=trainer:{PW}", f"/usr/bin/curl -utrainer:{PW} https://h"],
    "user of lftp": [f"lftp -u trainer,{PW} sftp://h"],
    "user of smbclient": [f"smbclient //h/data -U trainer%{PW}"],
    "password of sshpass": [f"sshpass -p {PW} ssh -p 22 h", f"sshpass -p{PW} scp a h:b"],
    "login to a registry": [f"docker login -u trainer -p {PW} registry.example.com", f"podman login -p={PW} h", f"helm registry login h -u a -p {PW}", f"az acr login -n a -u a -p {PW}"],
    "credentials of a registry": [f"skopeo copy --src-creds trainer:{PW} docker://a docker://b", f"podman pull --creds=trainer:{PW} h/a"],
    "password of mysql": [f"mysql -h db -u root -p{PW} runs", f"mysqldump -uroot -p{PW} runs", f"kubectl exec db -- mariadb -p{PW}"],
    "password of redis": [f"redis-cli -h redis -a {PW} ping"],
    "password of mongo": [f"mongosh -u root -p {PW} mongodb.example.com"],
    "password of ldap": [f"ldapsearch -x -D cn=admin -w {PW}"],
    "password of sqlcmd": [f"sqlcmd -S db -U sa -P {PW}"],
}  # fmt: skip
