"""Suggestions for unknown commands, such as those of other tools: the command of trainform, Pulumi or kubectl to use instead."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Collection, Sequence

PREVIEW = "`trainform review STACK` says what a change does, `pulumi preview -s STACK` shows its fields; `trainform plan` shows a job from its files alone"
CHANGES = "`trainform diff STACK` compares what is deployed with the files, field by field; `pulumi preview -s STACK --diff` what was applied"
UP = "`pulumi up -s STACK` creates or changes the job; `trainform sandbox up` starts a cluster on this machine"
PROMOTE = "`trainform promote EXPERIMENT --from ENV --to ENV` takes what is deployed to another environment"
RERUN = "`pulumi config set trainform:run 2 -s STACK`, then `pulumi up -s STACK`, runs an unchanged experiment again"
EDIT = "change the experiment's file, then `pulumi up -s STACK` applies it; `pulumi preview -s STACK` shows what would change"
BACK = "`trainform rollback STACK --reason TEXT` goes back to what was deployed before, then `trainform review STACK --save FILE` and `trainform apply FILE` bring it there; `trainform history EXPERIMENT` shows what was"
DESTROY = (
    "`trainform destroy STACK` deletes the job, but claims with `keep: true` stay; `trainform sandbox down` "
    "stops the sandbox"
)
STATUS = (
    "`kubectl get pods -n NAMESPACE` shows the job's pods; `trainform sandbox status` shows the sandbox; "
    "`trainform doctor` shows what is missing"
)
LOGS = "`kubectl logs POD -n NAMESPACE` prints what a pod wrote; `trainform plan` lists the pods' names"
CHECK = "`trainform check EXPERIMENT -e ENV` finds every problem of both files"
LIST = "`trainform stacks` shows what is deployed, `pulumi stack ls` lists the stacks of a backend; experiments and environments are the files in stacks/experiments and stacks/environments"
RENDER = "`trainform render EXPERIMENT -e ENV` prints the manifests"
CONFIG = "`pulumi config -s STACK` shows and sets a stack's config; docs/reference lists the fields of both files"
NEW = "`trainform new NAME -e ENV` writes the files of an experiment"
REHEARSE = "`trainform rehearse EXPERIMENT -e ENV` runs the job's pods as containers on this machine"
DESCRIBE = "`trainform plan EXPERIMENT -e ENV` shows what will run, `kubectl describe` shows what runs"
HISTORY = "`trainform history EXPERIMENT` shows its releases, and what happened to its stacks"
REFRESH = "`pulumi refresh -s STACK` compares Pulumi's state with the cluster"
SHELL = "`kubectl exec -it POD -n NAMESPACE -- sh` opens a shell in a pod"
HELP = "`trainform --help` lists the commands, `trainform COMMAND --help` shows the arguments of one"
VERSION = "`trainform --version` prints it"
STACK = "`pulumi stack init STACK` creates one, `pulumi stack ls` lists them"
SETUP = "`trainform toolchain ensure` installs what is missing, `trainform doctor` shows what is missing"
SANDBOX = "the sandbox has its own commands: `trainform sandbox --help` lists them"

SUGGESTIONS = {
    "preview": PREVIEW,
    "release": PROMOTE,
    "dry-run": PREVIEW,
    "compare": CHANGES,
    "up": UP,
    "deploy": UP,
    "submit": UP,
    "launch": UP,
    "start": UP,
    "run": UP,
    "train": UP,
    "restart": RERUN,
    "rerun": RERUN,
    "repeat": RERUN,
    "retry": RERUN,
    "resume": RERUN,
    "scale": EDIT,
    "revert": BACK,
    "undo": BACK,
    "restore": BACK,
    "delete": DESTROY,
    "down": DESTROY,
    "remove": DESTROY,
    "rm": DESTROY,
    "stop": DESTROY,
    "cancel": DESTROY,
    "kill": DESTROY,
    "status": STATUS,
    "ps": STATUS,
    "top": STATUS,
    "watch": STATUS,
    "get": STATUS,
    "logs": LOGS,
    "log": LOGS,
    "tail": LOGS,
    "validate": CHECK,
    "lint": CHECK,
    "verify": CHECK,
    "list": LIST,
    "ls": LIST,
    "template": RENDER,
    "manifests": RENDER,
    "export": RENDER,
    "yaml": RENDER,
    "config": CONFIG,
    "set": CONFIG,
    "edit": CONFIG,
    "create": NEW,
    "add": NEW,
    "generate": NEW,
    "test": REHEARSE,
    "simulate": REHEARSE,
    "releases": HISTORY,
    "revisions": HISTORY,
    "describe": DESCRIBE,
    "show": DESCRIBE,
    "explain": DESCRIBE,
    "refresh": REFRESH,
    "import": REFRESH,
    "exec": SHELL,
    "shell": SHELL,
    "ssh": SHELL,
    "help": HELP,
    "version": VERSION,
    "stack": STACK,
    "setup": SETUP,
    "install": SETUP,
    "upgrade": SETUP,
    "update": SETUP,
    "env": SANDBOX,
    "cluster": SANDBOX,
}


_OPTIONS = {"-e": "ENV", "--environment": "ENV", "-s": "STACK", "--stack": "STACK"}
PLAIN = re.compile(r"[a-z0-9][a-z0-9.-]*")
# Command with subcommands -> unknown word -> the subcommand to use.
SYNONYMS = {
    "trainform sandbox": {
        "start": "up", "create": "up", "run": "up",
        "stop": "down", "delete": "down", "destroy": "down", "remove": "down", "rm": "down",
        "list": "status", "ls": "status", "get": "status", "ps": "status", "logs": "status",
        "kubeconfig": "env", "export": "env", "shell": "env",
    },
    "trainform toolchain": {
        "install": "ensure", "build": "ensure", "download": "ensure", "get": "ensure", "update": "ensure",
        "list": "where", "ls": "where", "path": "where", "status": "where", "which": "where",
    },
}  # fmt: skip


def suggestion(command: str, word: str, verbs: Collection[str], rest: Sequence[str] = ()) -> str:
    """Return what to type instead of an unknown word. `rest`: the words after it, whose names are used in the suggestion."""
    synonyms = SYNONYMS.get(command, {})
    elsewhere = {} if synonyms else SUGGESTIONS
    near = difflib.get_close_matches(word, [*verbs, *synonyms, *elsewhere], 1)
    meant = word if word in synonyms or word in elsewhere else near[0] if near else ""
    if meant in verbs or meant in synonyms:
        return f"did you mean `{command} {synonyms.get(meant, meant)}`?"
    return _with_names(elsewhere[meant], rest) if meant else f"`{command} --help` lists the commands"


def _with_names(text: str, words: Sequence[str]) -> str:
    """Return the text with the experiment, environment or stack from the words in the place of EXPERIMENT, ENV and STACK."""
    given = {
        option: value
        for option, value in itertools.pairwise(words)
        if option in _OPTIONS and PLAIN.fullmatch(value) is not None
    }
    named = {_OPTIONS[option]: value for option, value in given.items()}
    if words and words[0] not in given and PLAIN.fullmatch(words[0]) is not None:
        named.setdefault("STACK" if "." in words[0] else "EXPERIMENT", words[0])
    if "STACK" not in named and {"EXPERIMENT", "ENV"} <= named.keys():
        named["STACK"] = f"{named['EXPERIMENT']}.{named['ENV']}"
    return re.sub(rf"\b({'|'.join(named)})\b", lambda found: named[found[0]], text) if named else text
