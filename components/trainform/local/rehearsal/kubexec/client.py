"""Takes the place of kubectl for `kubectl exec`: it passes the command line on to the relay of its pod.

This file alone is the program: it needs the standard library of any Python 3. Its first argument is the socket of the
relay. Output, exit code and messages are those of kubectl without `--stdin`.
"""

from __future__ import annotations

import base64
import json
import socket
import sys

OPTIONS = {"-c": "container", "--container": "container", "-n": "namespace", "--namespace": "namespace"}
USAGE = "it knows `kubectl exec POD [--namespace NAMESPACE] [--container CONTAINER] -- COMMAND`"


def parsed(words: list[str]) -> dict[str, object]:
    """Return the request: pod, command, container, namespace. SystemExit for words that it does not know."""
    if words[:1] != ["exec"]:
        raise SystemExit(
            f"error: kubectl {' '.join(words[:1])}: a rehearsal has no API server but this stand-in; {USAGE}"
        )
    cut = words.index("--") if "--" in words else len(words)
    request: dict[str, object] = {"command": words[cut + 1 :]}
    left = words[1:cut]
    while left:
        word, equals, value = left.pop(0).partition("=")
        if word in OPTIONS and (equals or left):
            request[OPTIONS[word]] = value if equals else left.pop(0)
        elif word.startswith("-") or equals or "pod" in request:
            raise SystemExit(f"error: {word}: is not known to this stand-in for kubectl; {USAGE}")
        else:
            request["pod"] = word.rpartition("/")[2]
    if "pod" not in request or not request["command"]:
        raise SystemExit("error: you must specify a pod, and at least one command for the container")
    return request


def main(path: str, words: list[str]) -> int:
    """Send the request to the relay at this path, write the command's output, and return its exit code."""
    request = parsed(words)
    with socket.socket(socket.AF_UNIX) as relay:
        try:
            relay.connect(path)
            relay.sendall(json.dumps(request).encode() + b"\n")
            for line in relay.makefile("rb"):
                answer = json.loads(line)
                if "exit" in answer:
                    return int(answer["exit"])
                stream = sys.stdout.buffer if answer["stream"] == 1 else sys.stderr.buffer
                stream.write(base64.b64decode(answer["data"]))
                stream.flush()
        except OSError as error:
            raise SystemExit(f"error: the rehearsal does not answer: {error}") from None
    raise SystemExit("error: the rehearsal has ended")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
