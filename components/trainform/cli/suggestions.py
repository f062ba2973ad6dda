"""Suggestions for unknown commands: the nearest command, or what does the same as a command of another tool."""

from __future__ import annotations

import difflib
from collections.abc import Collection

UP = "`pulumi up -s STACK` creates or changes the job; `trainform sandbox up` starts a cluster on this machine"
RERUN = "`pulumi config set trainform:run 2 -s STACK`, then `pulumi up -s STACK`, runs an unchanged experiment again"
PREVIEW = "`trainform review STACK` shows the effects of a change, `pulumi preview -s STACK` its fields"
DESTROY = (
    "`trainform destroy STACK` deletes the job, but not claims with `keep: true`; `trainform sandbox down` stops the "
    "sandbox"
)
PODS = "`kubectl get pods -n NAMESPACE` shows the job's pods, `kubectl logs POD -n NAMESPACE` what a pod prints"
CHECK = "`trainform check EXPERIMENT -e ENV` finds every problem of both files"
LIST = "`trainform stacks` shows what is deployed, `pulumi stack ls` lists the stacks of a backend"
CLOSE = 0.7  # with less, `scale` or `retry` would be answered with `destroy`
SUGGESTIONS = {
    **dict.fromkeys(("up", "deploy", "submit", "launch", "start", "run", "train"), UP),
    **dict.fromkeys(("restart", "rerun", "retry", "resume"), RERUN),
    **dict.fromkeys(("preview", "dry-run"), PREVIEW),
    **dict.fromkeys(("down", "delete", "remove", "rm", "stop", "cancel", "kill"), DESTROY),
    **dict.fromkeys(("status", "ps", "get", "logs"), PODS),
    **dict.fromkeys(("validate", "lint", "verify"), CHECK),
    **dict.fromkeys(("list", "ls"), LIST),
    "help": "`trainform --help` lists the commands, `trainform COMMAND --help` shows the arguments of one",
    "version": "`trainform --version` prints it",
}


def suggestion(command: str, word: str, verbs: Collection[str]) -> str:
    """Return what to type instead of an unknown word. `command`: the words before it."""
    if command == "trainform" and word in SUGGESTIONS:
        return SUGGESTIONS[word]
    near = difflib.get_close_matches(word, verbs, 1, CLOSE)
    return f"did you mean `{command} {near[0]}`?" if near else f"`{command} --help` lists the commands"
