"""Two lists of texts, by which is counted what is found by mistake and what is missed."""

from __future__ import annotations

import base64

from tests.console.secrets.samples import ANY, CHOSEN, HEX, ISSUED, PLAIN, PW, SHAPES, TOKENS, coded, of

SETTINGS = """
HF_ENDPOINT=https://hf-mirror.example.com WANDB_BASE_URL=https://wandb.example.com
MLFLOW_TRACKING_URI=http://mlflow.example.com:5000 CLEARML_API_HOST=https://api.clear.example.com
AWS_ENDPOINT_URL=https://s3.example.com
AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/eks.amazonaws.com/serviceaccount/token GCS_BUCKET=gs://ai-lab-checkpoints
PASSTHROUGH=1 GPU_PASSTHROUGH=enabled KEYFRAME=12 KEYFRAMES=0,12,24 MONKEY_PATCH=flash_attn KEYPOINTS=17
KEYPOINT_MODEL=vitpose HOTKEYS=off MONKEYPATCH=1 KEYSTONE=x PASSAGES=wiki PASSAGE_MAX_LEN=256 PASSES=3 NUM_PASSES=3
PASS_RATE=0.9 PASS_AT_K=10 PASSIVE=true PASSPORT=none BYPASS_CACHE=1 COMPASS_DATA=/mnt/c TWO_PASS=yes
TOKENIZER_NAME=meta-llama/Llama-3-8B TOKENIZER_MODE=slow TOKEN_DROPOUT=0.1 TOKENS_PER_GPU=8192 TOKEN_TYPE_IDS=false
TOKEN_LEVEL_LOSS=mean TOKEN_BUDGET=4T PAD_TOKEN_ID=0 EOS_TOKEN_ID=2 BOS_TOKEN_ID=1 UNK_TOKEN_ID=3
DECODER_START_TOKEN_ID=2 FORCED_BOS_TOKEN_ID=128022 MASK_TOKEN_ID=103 MAX_NEW_TOKENS=512 MIN_TOKENS=1
SECRET_NAMESPACE=ai SECRETS_DIR=/run/secrets CREDENTIAL_HELPER=ecr-login CREDENTIALS_FILE=gcp.json
SSH_KEY_PATH=/root/.ssh/id API_KEY_FILE=/run/openai KEY_NAME=runs ATTN_KEY_DIM=64 NUM_KEY_VALUE_HEADS=8
KEY_PADDING_MASK=true QUERY_KEY_NORM=rms SORT_KEY_BY=len CACHE_KEY=sdxl-latents-1024 DICT_KEY=image GROUP_KEY=day
SHARD_KEY=0 PRIMARY_KEY=id FOREIGN_KEY=run_id IMAGE_KEY=jpg CAPTION_KEY=txt TEXT_KEY=content DATA_KEY=webdataset
METRIC_KEY=eval_loss RNG_KEY=42 S3_KEY=data/train.tar USE_AUTH=oidc AUTH_MODE=iam AUTH_TYPE=kerberos FILE_PAT=*.jpg
"""
OPTIONS = """
mpirun -np 16 -H a:8,b:8 -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -mca pml ob1 -mca btl \
^openib ./all_reduce_perf -b 8 -e 8G -f 2 -g 1
--model_name_or_path meta-llama/Llama-3-8B --tokenizer_name meta-llama/Llama-3-8B --use_fast_tokenizer True \
--trust_remote_code
--add_eos_token --add_bos_token False --pad_to_max_length --max_seq_length 4096 --block_size 1024 --packing \
--group_by_length
--eos_token_id 2 --pad_token_id 0 --bos_token_id=1 --token_type_ids --return_special_tokens_mask \
--clean_up_tokenization_spaces
--max_tokens_per_batch 8192 --train-tokens 300B --lr-decay-tokens 260e9 --tokens_to_save 1000 --num_tokens 3 \
--min_new_tokens=1
--tokenizer-type GPT2BPETokenizer --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --special-tokens-map \
special_tokens_map.json
--num-query-groups 8 --kv-channels 128 --attention-key-dim 64 --qk-layernorm --no-query-key-layer-scaling \
--key-padding-mask
--hub_model_id vision/sdxl-lora --push_to_hub False --hub_strategy every_save --hub_private_repo True --hub_token \
$(HF_TOKEN)
--instance_prompt 'a photo of sks dog' --class_prompt 'a photo of dog' --with_prior_preservation \
--learnable_property object --initializer_token toy
--image_column image --caption_column text --key_column key --conditioning_image_column conditioning \
--dataset_config_name en
--controlnet_passthrough --guidance_rescale 0.7 --keyframe_interval 12 --monkey_patch flash_attn --passes 2 \
--single_pass --password_file /run/pw
--secret-store vault --secret-name hf-token --secret_path secret/data/hf --credential-helper ecr-login \
--credentials_file gcp.json --auth-mode iam
--output_dir s3://runs/0123456789abcdef0123456789abcdef01234567/checkpoint-1000 --resume_from_checkpoint latest \
--hash 0123456789abcdef0123456789abcdef
git -c http.sslVerify=false clone --depth 1 -b main ssh://git@git.example.com:2222/ai/train.git && cd train && pip \
install -e .[deepspeed]
pip install --no-cache-dir --index-url https://pypi.example.com/simple --trusted-host pypi.example.com \
flash-attn==2.8.3 --no-build-isolation
aws s3 sync s3://datasets/imagenet /mnt/data --no-progress --only-show-errors && tar -xpf /mnt/data/train.tar -C \
/mnt
ssh-keygen -A && /usr/sbin/sshd -D -p 2222 -o StrictModes=no -o PasswordAuthentication=no -o \
PubkeyAuthentication=yes
huggingface-cli download meta-llama/Llama-3-8B --local-dir /mnt/model --exclude '*.pth' --token $HF_TOKEN
vllm serve /mnt/model --tensor-parallel-size 8 --max-model-len 32768 --max-num-batched-tokens 8192 --api-key EMPTY \
--served-model-name qwen
ray start --head --port=6379 --dashboard-host 0.0.0.0 --num-gpus 8 --block --redis-password ''
"""

# Name and text: what experiments, charts and programs of this field really hold, and no secret is in it.
HARMLESS: list[tuple[str, str]] = [
    *(("args", text) for text in [
        "--pad-token <pad>", "--pad_token=[PAD]", "--eos-token '<|endoftext|>'", "--bos_token=<s>", "--unk-token [UNK]",
        "--mask_token <mask>",
        "--cls-token [CLS]", "--sep-token [SEP]", "--image-token <image>", "--placeholder_token sks",
        "--initializer_token dog", "--stop-token '###'",
        "--trigger_token ohwx", "--class-token person", "--eot-token '<|eot_id|>'", "--start_token 50258",
        "--prefix-token fim", "--new-token foo",
        "--tokenizer bert-base-uncased", "--tokenizer-path /mnt/tok", "--max-tokens 4096", "--max-token=4096",
        "--max_new_tokens 128", "--num-tokens 1e9",
        "--tokens-per-batch 8192", "--token-file /run/token", "--tokens_per_sample 512", "--use-auth-token",
        "--use-auth-token True", "--token",
        "--hf-token $(HF_TOKEN)", "--hf-token=$(HF_TOKEN)", '--hf-token "$HF_TOKEN"', "--password ${PASSWORD}",
        "--password /run/secrets/password",
        "HF_TOKEN=$(cat /run/secrets/token) train", "export DB_PASS=$(DB_PASS)", "pwd", "cd $(pwd) && train",
        "PWD=/app python train.py", "--pass 2",
        "--num-pass 3", "--forward-pass full", "--two-pass yes", "--secret-name hf", "--key-file /a/b",
        "--key timestamp", "--sort-key loss",
        "--primary-key id", "--monitor val_loss", "pip install sk-learn", "pip install scikit-learn hf_transfer",
        "pip install 'sk-video>=1.1'",
        "python -m hf_transfer_benchmark_of_all_the_files_there", "huggingface-cli login --token $HF_TOKEN",
        "wandb login $WANDB_API_KEY", "wandb login",
        "git clone https://github.com/huggingface/transformers", "git clone git@github.com:ai/resnet.git",
        "git checkout " + of(HEX, 40),
        "curl -H 'Authorization: Bearer $TOKEN' https://h/a", 'curl -H "Authorization: Bearer $(TOKEN)" https://h',
        "npm_config_cache=/tmp/npm npm ci",
        "echo Basic configuration of the trainer", "echo Bearer of good news", "echo Basic authentication is off",
        "ssh -i /root/.ssh/id_ed25519 host",
        "openssl req -new -key /tls/server.key", "disk-0123456789abcdefghijklmnopqrstuvwxyz0123456789",
        "--run task-" + of(ANY, 44),
        "https://s3.example.com/data?list-type=2&prefix=train", "https://h/a?key=name&token=$(TOKEN)",
        "https://h/api?page_token=", "s3://bucket/tokens/a.bin",
        "https://example.com:8443/a@b", "https://[::1]:8443/a@b", "https://trainer:$(TOKEN)@git.example.com/a.git",
        "https://git@github.com/a/b",
        "redis://redis:6379/0", "postgres://db.example.com/runs", "tcp://10.0.0.1:2379", "file:///mnt/data",
        "unix:///var/run/docker.sock",
    ]),
    *(("script", text) for text in [
        'tokenizer.add_special_tokens({"pad_token": "<pad>"})', "tokenizer.pad_token = tokenizer.eos_token",
        'login(token=os.environ["HF_TOKEN"])',
        'token = os.getenv("HF_TOKEN")', "def f(password: str, token: str | None = None) -> None: ...",
        'parser.add_argument("--api-key", default=None)',
        "api_key = config.api_key", "token = next(tokens)", 'password="$DB_PASS"', "secret = read_secret(path)",
        'f"https://{user}:{password}@host"'.replace("https://{user}:{password}@", "{url}"),
        "-----BEGIN CERTIFICATE-----\nMIIB", "-----BEGIN PUBLIC KEY-----\nMIIB", "-----BEGIN OPENSSH PUBLIC KEY-----",
        "secret:\n  secretName: hf\n  optional: true",
        "env: {HF_TOKEN: {secret: {name: hf, key: token}}}",
        "valueFrom:\n  secretKeyRef:\n    name: hf\n    key: token", "imagePullSecrets:\n- name: registry",
        "eos_token: <|im_end|>", "pad_token_id: 0", "bos_token_id: 128000", "special_tokens: [<s>, </s>]",
        "max_tokens: 4096", "token_type: bpe",
    ]),
    # servers that need no key, and programs whose tokens and passes are no secrets
    *((name, value) for name in ("OPENAI_API_KEY", "VLLM_API_KEY") for value in
      ("EMPTY", "dummy", "not-needed", "none", "None", "not_used", "NA", "n/a", "unused", "no-key-required",
          "sk-no-key-required", "sk-xxx", "ollama", "your-api-key")),
    *(("args", text) for text in [
        "--api-key EMPTY", "--api_key=dummy", "--openai-api-key not-needed", "OPENAI_API_KEY=EMPTY python eval.py",
        'client = OpenAI(api_key="EMPTY")',
        "--instance_token=sks", "--instance_token 'sks dog'", "--src_token=en", "--tgt_token de",
        "--source-token en_XX", "--target_token=de_DE", "--token ohw",
        "WORD_DELIMITER_TOKEN=| python a.py", "--word_delimiter_token |", "--concept_token cat-toy",
        "--modifier_token new1", "--unknown-token unk", "--lang_token=zh",
        "--decoder_start_token bos", "--padding_token pad", "--added-token foo", "RENDER_PASS=depth render",
        "--render-pass depth", "--warmup-pass full",
        "const t = a ? token : 'anonymous'", 'x = ok ? password : "none at all"', "echo $((a ? token : 1))",
        "push_to_hub(repo, token=args.hf_token, private=True)",
        "snapshot_download(repo, token=hf_token)", "client = Client(api_key=api_key)",
        "connect(password=self.password, user=u)", "api_key=cfg.wandb.api_key",
        "curl -u $USER:$PASS https://h", "curl -u trainer: https://h", "curl -u trainer https://h",
        "curl -sSL https://h/install.sh", "curl -H 'X-API-Key: $KEY' https://h",
        "curl -H 'Accept: application/json' https://h", "curl -o a -z b:c https://h", "id -u trainer",
        "docker run -p 8080:80 a", "docker login --password-stdin -u a",
        "docker run -u 1000:1000 a", "mkdir -p /a/b", "ssh -p 2222 host", "sshpass -e ssh -p 2222 host",
        "sshpass -f /run/pw ssh -p 22 h", "mysql -u root -p runs",
        "mysql --port 3306 --protocol tcp", "redis-cli -h redis -p 6379 ping", "mongosh --port 27017",
        "curl https://h; id -u a:b", "cp -p a b && curl https://h",
        "rsync -avp a b", "kubectl create secret generic hf --from-file=token=/run/token", "--from-literal=mode=train",
    ]),
    *(("script", text) for text in [
        "[train]\nmax_tokens = 4096\npad_token = <pad>\n", "[wandb]\nproject = sdxl\nmode = offline\n",
        "[db]\npassword = ${DB_PASS}\nuser = a", "[db]\npassword =\nhost = a",
        "token = tokens[0]", "token = tokenizer.decode(ids)", "password = getpass()",
        "for token in tokens:\n    key = token.text", "secret = None", "api_key = API_KEY",
    ]),
    # what training jobs are set by
    *((name, value) for name, value in (setting.split("=", 1) for setting in SETTINGS.split())),
    *(("args", option) for option in OPTIONS.splitlines() if option),
    ("HF_HUB_ENABLE_HF_TRANSFER", "1"), ("MAX_TOKENS", "4096"), ("TOKENIZERS_PARALLELISM", "false"),
    ("NUM_TOKENS", "300B"), ("EOS_TOKEN", "<|endoftext|>"),
    ("PAD_TOKEN", "!"), ("IMAGE_TOKEN", "<image>"), ("MAX_TOKEN", "4096"), ("TOKEN", "0"), ("HF_TOKEN", ""),
    ("HF_TOKEN", "$(OTHER)"), ("HF_TOKEN", "${OTHER}"),
    ("HF_TOKEN", "{{ .Values.token }}"), ("HF_TOKEN", "%s"), ("HF_TOKEN", "<your token>"), ("HF_TOKEN", "[secret]"),
    ("HF_TOKEN", "***"), ("HF_TOKEN", "..."),
    ("HF_TOKEN_PATH", "/run/secrets/token"), ("TOKEN_FILE", "token"), ("PASSWORD_FILE", "pw"), ("SECRET_NAME", "hf"),
    ("secretName", "hf-token"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/run/secrets/gcp.json"), ("DB_PASS", "$(DB_PASS)"),
    ("DB_PASS", "`cat /run/pw`"), ("PASSWORD", "/run/secrets/password"),
    ("PWD", "/app"), ("OLDPWD", "/"), ("PWD", "."), ("COMPASS", "north"), ("BYPASS", "proxy"), ("FORWARD_PASS", "full"),
    ("BAND_PASS", "low"), ("ENCOMPASS", "x"),
    ("KEY", "value"), ("MONKEY", "see"), ("SECRETARY", "Ada"), ("TOKENIZER", "bert"), ("SORT_KEY", "loss"),
    ("PARTITION_KEY", "day"), ("key", "token"), ("PUBLIC_KEY", "ssh-ed25519 AAAAC3"),
    ("KEYBOARD", "us"), ("AWS_REGION", "eu-central-1"), ("AWS_PROFILE", "dev"), ("AUTHOR", "Ada"),
    ("AUTHORIZATION", "Bearer $(TOKEN)"), ("authorization", "${AUTH}"),
    ("WANDB_PROJECT", "sdxl-lora"), ("WANDB_MODE", "offline"), ("WANDB_GIT_COMMIT", of(HEX, 40)),
    ("WANDB_ENTITY", "vision"), ("COMMIT", of(HEX, 40)), ("COMMIT", of(HEX, 64)),
    ("image", "registry.example.com/ai/pytorch@sha256:" + of(HEX, 64)), ("image", "localhost:5000/sk-learn:1.0"),
    ("digest", "sha256:" + of(HEX, 64)),
    ("uid", "123e4567-e89b-12d3-a456-426614174000"), ("checksum", of(HEX, 32)),
    ("path", "/mnt/hf_cache/models--meta-llama--Llama-3/snapshots/" + of(HEX, 40)),
    ("NCCL_DEBUG", "INFO"), ("NCCL_IB_HCA", "mlx5_0,mlx5_1"),
    ("LD_LIBRARY_PATH", "/usr/local/cuda/lib64:/opt/amazon/efa/lib"), ("PYTHONPATH", "/code:/opt/pypi-mirror"),
    ("MODEL", "meta-llama/Meta-Llama-3-8B-Instruct"), ("DATASET", "mc4/en"), ("name", "sk-proj-trainer"),
    ("name", "hf-token"), ("name", "ghp-runner"), ("queue", "npm_builds"),
    ("NAME", "AKIAPOLLO"), ("NAME", "ASIATICA"), ("MASTER_ADDR", "sdxl-lora-master-0.sdxl-lora"),
    ("kubernetes.io/service-account.name", "default"),
    ("example.com/tokenizer", "bert"), ("volumeAttributes", "csi.example.com"), ("secretProviderClass", "vault"),
    ("keyring", "/etc/ceph/keyring"),
    ("DOCS", "see http://a and b@c"), ("MAIL", "ada@example.com"), ("JWT", "eyJ.a.b"), ("VERSION", "1.2.3"),
    ("TEXT", coded({"a": 1}) + "." + of(ANY, 20) + "." + of(ANY, 20)),
    ("SSH", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA" + of(ANY, 30) + " trainer@host"),
    ("HOSTS", "git.example.com ssh-rsa AAAAB3NzaC1yc2E" + of(ANY, 60)),
    # in base64, and what looks like it
    *(("X", base64.b64encode(text.encode()).decode()) for text in [
        '{"spec": {"image": "registry.example.com/ai/pytorch:2.4", "env": []}}',
        "[train]\nmax_tokens = 4096\npad_token = <pad>\n", "hf_transfer sk-learn ghp-runner",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUB7s\n", "Authorization: Bearer $(TOKEN)",
        "https://trainer:$(TOKEN)@git.example.com/a.git", "password=hunter-of-mine",
        "\0" * 600, "sk-" + "x" * 60,
    ]),
    ("integrity", "sha512-" + base64.b64encode(bytes(range(64))).decode()),
    ("checksum", base64.b64encode(bytes(range(90, 122))).decode()),
    ("path", "/mnt/data/imagenet/train/n01440764/images-of-all-classes/shard_000001"),
    ("X", base64.b64encode(bytes(range(256)) * 16).decode()),
    ("X", "Password=;User=a"), ("X", "Password=$(DB_PASS);User=a"), ("X", "machine h login u password $TOKEN"),
    ("X", '{"auth": "none"}'), ("X", "auth: basic"),
    ("X", "dapibus"), ("X", "sg.example.com"), ("X", "hvs.example.com"), ("X", "pul-request"),
    ("X", "xoxo-hugs-and-kisses-from-me"), ("X", "do_v1_x"), ("X", "ya29.example.com"),
]  # fmt: skip
SECRET: list[tuple[str, str]] = [
    *(("VALUE", text) for text in SHAPES),
    *((name, PLAIN) for name in (*CHOSEN, *ISSUED)),
    ("HF_TOKEN", "hf_secret" + "123"), ("args", "--token my_token" + "77"), ("DB_PASS", "20260101"),
    *((name, value) for name in ("POSTGRES_PASSWORD", "REDIS_AUTH", "MYSQL_ROOT_PASS") for value in ("dummy",
            "changeme", "password", "xy")),
    *(("args", text) for text in [
        f"curl -H 'PRIVATE-TOKEN: {PLAIN}' https://git.example.com", f'curl -H "X-API-Key: {PLAIN}" https://h',
        f"kubectl create secret generic hf --from-literal=token={PLAIN}", f"docker run --env=HF_TOKEN={PLAIN} a",
        f"https://h/a?access_token={PLAIN}",
        f"[db]\nuser = trainer\npassword = {PW}", "[client]\npassword=lettersonly\n", f"password = {PW}",
        f"secret_key={PLAIN}7\n", f"_auth = {PLAIN}7\n",
        f"--hf-token {PLAIN}", f"--hf_token={PLAIN}", f"--api-key '{PLAIN}'", f"-password={PLAIN}",
        f"++wandb.api_key={PLAIN}", f"HF_TOKEN={PLAIN} python a.py",
        f"export DB_PASS='{PLAIN}'; train", f"sh -c 'train --token {PLAIN}'", f"host=db password={PLAIN} dbname=runs",
        f"mysql --user a --password {PLAIN}",
        f'login(token="{PLAIN}")', f"client = Client(api_key='{PLAIN}')", f'{{"password": "{PLAIN}"}}',
        f"lr: 1\ndb_pass: {PLAIN}9\n", f'api_key = "{PLAIN}"',
        f"  - token: {PLAIN}7\n", f'"hfToken": "{PLAIN}"', f"Server=db;User=trainer;Pwd={PW}",
        f"AccountName=runs;AccountKey={PLAIN};EndpointSuffix=core",
    ]),
]  # fmt: skip
# What docs/how-to/use-secrets.md lists as not found.
NOT_FOUND: list[tuple[str, str]] = [
    ("VALUE", PW), ("secret", "hf-token"), ("TOKEN", base64.b64encode(PW.encode()).decode()[:3]), ("HF_TOKEN", "4096"),
    ("VALUE", base64.b64encode(TOKENS[0].encode()).decode()),
    *(("args", text) for text in [
        f"curl -u trainer:{PW} https://h/a", f"sshpass -p {PW} ssh h", f"docker login -u trainer -p {PW} h",
        f"mysql -uroot -p{PW} runs",
        "[client]\npassword = lettersonly\n",
    ]),
]  # fmt: skip
