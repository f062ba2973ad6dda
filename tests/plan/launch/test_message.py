"""message.awk: why a command failed, found in its standard error."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.plan.launch.starting import Container

FRAME = '  File "/app/train.py", line 212, in step\n    loss = model(batch)\n'
HEAD = "Traceback (most recent call last):\n"
VALUE_ERROR = f"{HEAD}{FRAME}ValueError: the shape is (3, 4)\n"
WARNINGS = "W1127 04:10:11.203 warning: find_unused_parameters\n[rank3]:[W1127] using best-guess GPU 0\n"
CHILD_FAILED = f"""{HEAD}  File "/usr/local/bin/torchrun", line 8, in <module>
    sys.exit(main())
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{"=" * 60}
/app/train.py FAILED
{"-" * 60}
Failures:
[1]:
  time      : 2026-11-27_04:10:12
  host      : llama-worker-1
  rank      : 9 (local_rank: 1)
  exitcode  : 1 (pid: 72)
  error_file: <N/A>
{"-" * 60}
Root Cause (first observed failure):
[0]:
  time      : 2026-11-27_04:10:11
  host      : llama-worker-1
  rank      : 11 (local_rank: 3)
  exitcode  : {{code}} (pid: 74)
  error_file: <N/A>
  traceback : {{traceback}}
{"=" * 60}
"""
FAILED = CHILD_FAILED.format(code=1, traceback="To enable traceback see: https://pytorch.org/docs")
KILLED = CHILD_FAILED.format(code=-9, traceback="Signal 9 (SIGKILL) received by PID 74")
ROOT = "torchrun: rank 11 (local_rank: 3), exitcode 1 (pid: 74)\n"


def test_the_first_traceback_with_the_rank_of_torchrun(container: Container) -> None:
    later = VALUE_ERROR.replace("ValueError: the shape is (3, 4)", "ConnectionError: reset by peer")
    assert container.fails(WARNINGS + VALUE_ERROR + WARNINGS + later + FAILED) == ROOT + VALUE_ERROR


def test_the_processes_of_a_node_write_at_the_same_time(container: Container) -> None:
    """torch marks each line with the rank."""
    three, one = (VALUE_ERROR.replace("212", number).splitlines() for number in ("3", "1"))
    mixed = [
        f"[rank{rank}]: {line}\n"
        for pair in zip(three, one, strict=True)
        for rank, line in zip("31", pair, strict=True)
    ]
    assert container.fails("".join(mixed)) == "".join(f"{line}\n" for line in three)


def test_a_progress_bar_before_the_traceback(container: Container) -> None:
    bar = "\r".join(f"step {step}: {step}%|{'█' * step}" for step in range(60))
    assert container.fails(bar + VALUE_ERROR) == VALUE_ERROR


def test_a_chain_is_kept_whole(container: Container) -> None:
    chain = f"{HEAD}{FRAME}KeyError: 'lr'\n\nDuring handling of the above exception, another exception occurred:\n\n"
    expected = (chain + VALUE_ERROR).replace("\n\n", "\n")
    assert container.fails(chain + VALUE_ERROR + "epoch 3\n") == expected


def test_a_message_of_several_lines(container: Container) -> None:
    error = f"{HEAD}{FRAME}RuntimeError: Error(s) in loading state_dict:\n\tsize mismatch for wte: (3, 4)\n"
    assert container.fails(error + "wandb: sync done\n" + FAILED) == ROOT + error


def test_a_command_that_goes_on_has_handled_the_error(container: Container) -> None:
    handled = VALUE_ERROR.replace("ValueError", "ImportError")
    steps = "".join(f"step {step}\n" for step in range(60))
    assert container.fails(handled + steps + VALUE_ERROR) == VALUE_ERROR
    assert container.fails(handled + steps) == "".join(f"step {step}\n" for step in range(40, 60))


@pytest.mark.parametrize(
    "line", ["{:3}%|##  | {}/20000 [00:0{}<00:09]\n", "INFO:root:step {} validation error 0.{}{}\n"]
)
def test_a_progress_bar_and_the_word_error_are_output(line: str, container: Container) -> None:
    handled = VALUE_ERROR.replace("ValueError", "ConnectionError")
    steps = "".join(line.format(step, step, step % 10) for step in range(60))
    assert container.fails(handled + steps + VALUE_ERROR) == VALUE_ERROR


def test_the_report_of_torchrun_does_not_replace_the_last_lines(container: Container) -> None:
    """The program ended without a traceback, and was started once again."""
    died = "E1127 04:10:12.004 api.py:874] failed (exitcode: 2) local_rank: 0 (pid: 74) of binary: /usr/bin/python3\n"
    again = (
        "I1127 04:10:13.004 api.py:930] [default] Worker group FAILED. 1/1 attempts left; will restart worker group\n"
    )
    usage = "train.py: error: unrecognized arguments: --learning-rate 0.1\n"
    failed = FAILED.replace("exitcode  : 1", "exitcode  : 2")
    assert (
        container.fails(died + again + usage + died + failed)
        == ROOT.replace("exitcode 1", "exitcode 2") + again + usage
    )


def test_the_errors_of_other_processes_follow(container: Container) -> None:
    other = VALUE_ERROR.replace("ValueError", "torch.distributed.DistBackendError")
    stack = "".join(f"frame #{number}: c10d::ProcessGroupNCCL::run() + 0x5b3\n" for number in range(20))
    watchdog = "[rank{}]:[E1127 04:10:12.004] [PG ID 0] Process group watchdog thread terminated\n" + stack
    rest = "".join(other + watchdog.format(rank) for rank in range(1, 8))
    assert container.fails(VALUE_ERROR + rest + FAILED) == ROOT + VALUE_ERROR


def test_output_without_line_ends_never_holds_the_command_up(container: Container) -> None:
    """A secret at the border of two pieces is not shown either."""
    secret = "s3cr3t-" * 20
    script = f"head -c 8100 /dev/zero | tr '\\0' x >&2; printf '{secret}' >&2; head -c 60000000 /dev/zero >&2; exit 1"
    began = time.monotonic()
    ended = container.run("sh", "-c", script, TOKEN=secret, TRAINFORM_MASKED="TOKEN")
    assert (ended.code, ended.message) == (1, f"{'x' * 997}...\n")
    assert time.monotonic() - began < 20, "it took minutes"


def test_a_process_that_is_killed_leaves_no_traceback(container: Container) -> None:
    message = container.fails(WARNINGS + KILLED).splitlines()
    assert message[0] == "torchrun: rank 11 (local_rank: 3), exitcode -9 (pid: 74)"
    assert "  traceback : Signal 9 (SIGKILL) received by PID 74" in message
    assert len(message) == 21


def test_the_last_20_lines(container: Container) -> None:
    assert container.fails("".join(f"line {number}\r\n" for number in range(100))) == "".join(
        f"line {number}\n" for number in range(80, 100)
    )


def recorded(container: Container, callstack: str, **environ: str) -> str:
    """Return the message of a command that leaves torchrun's error file, as `@record` writes it."""
    content = {
        "message": {"message": "ValueError", "extraInfo": {"py_callstack": callstack, "timestamp": "1764216612"}}
    }
    (container.folder / "error.json").write_text(json.dumps(content))
    script = 'cat "$0" >"$TORCHELASTIC_ERROR_FILE"; echo cannot go on >&2; exit 1'
    ended = container.run("sh", "-c", script, str(container.folder / "error.json"), **environ)
    assert (ended.code, ended.errors) == (1, "cannot go on\n")
    return ended.message


def test_the_error_file_of_torchrun_comes_first(container: Container) -> None:
    said = VALUE_ERROR.replace("(3, 4)", r'"C:\new\table" \" \\n	')
    assert recorded(container, said) == said


def test_an_error_file_of_the_users_stays_his(container: Container, tmp_path: Path) -> None:
    """It may be that of another attempt."""
    own = tmp_path / "own.json"
    assert recorded(container, VALUE_ERROR, TORCHELASTIC_ERROR_FILE=str(own)) == "cannot go on\n"
    assert own.exists()


@pytest.mark.parametrize("character", ["x", "é", "层", "🔥"])
def test_it_has_at_most_3000_bytes_of_whole_characters(character: str, container: Container) -> None:
    """A long traceback keeps its end, a long line its beginning."""
    deep = HEAD + FRAME * 100 + f"ValueError: no {character * 5000}\n"
    message = container.fails(deep)
    assert 2800 < len(message.encode()) <= 3000
    last = message.splitlines()[-1]
    assert last.startswith(f"ValueError: no {character * 200}")
    assert last.endswith(f"{character}...")
    assert len(last.encode()) <= 1000
    assert message.startswith(("  File", "    loss"))


KEY = "-----BEGIN KEY-----\nMIIEowIBAAKC\nAQEAx\n-----END KEY-----\n"


def test_values_of_secrets_are_masked(container: Container) -> None:
    values = {"TOKEN": "hunter-2", "LONGER": "hunter-2-and-more", "SHORT": "12345", "KEY": KEY, "REGEX": "a.*b[c"}
    said = "token hunter-2, hunter-2-and-more, hunter-2hunter-2, 12345, axxb[c a.*b[c\n" + KEY + "at MIIEowIBAAKC\n"
    names = " ".join([*values, "NOT_SET"])
    masked = "token ***, ***, ******, 12345, axxb[c ***\n***at ***\n"
    assert container.fails(said, TRAINFORM_MASKED=names, **values) == masked
    assert container.fails(said, TRAINFORM_MASKED="", **values) == said


def test_secrets_in_a_traceback_and_in_the_error_file(container: Container) -> None:
    said = VALUE_ERROR.replace("shape", 'pass"word')
    hidden = VALUE_ERROR.replace("shape", "***")
    secrets = {"PASSWORD": 'pass"word', "TRAINFORM_MASKED": "PASSWORD"}
    assert recorded(container, said, **secrets) == hidden
    assert container.fails("".join(f"[rank0]: {line}\n" for line in said.splitlines()), **secrets) == hidden


def test_a_secret_at_the_cut_is_masked_first(container: Container) -> None:
    secret = "s3cr3t-" * 20
    message = container.fails("x" * 900 + secret + "\n", TOKEN=secret, TRAINFORM_MASKED="TOKEN")
    assert message == "x" * 900 + "***\n"
