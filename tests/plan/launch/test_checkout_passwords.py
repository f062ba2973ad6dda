"""No password of an address is printed, neither by the script of a checkout nor by git."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.launch.repositories import Repository, Volume

# Addresses with a password, as it comes from a Secret: escaped as it should be, and not.
PASSWORDS = [
    "hunter2",
    "hunter2@hunter3",
    "hunter2@hunter3@hunter4",
    "a:hunter2",
    "%68hunter2",
    "hunter*",
    "hunter[2]",
    "hunter2$(>made)",
]


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_in_the_address_is_not_printed(password: str, repository: Repository, volume: Volume) -> None:
    """`repository: https://trainer:$(TOKEN)@…`: Kubernetes puts the value in before the script sees it."""
    address = f"https://trainer:{password}@git.example.com/sdxl.git"
    mapped = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{repository.address}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }
    for commit in (repository.head, "0" * 40):
        done = volume.run(address, commit, **mapped)
        assert "hunter" not in done.stdout + done.stderr
        assert (
            f"https://git.example.com/sdxl.git{' at' if commit == repository.head else ' has no commit'}"
            in done.stdout + done.stderr
        )


@pytest.mark.parametrize("password", [*PASSWORDS, "hunter2\n", "hunter2 hunter3", "hunter2/hunter3"])
@pytest.mark.parametrize("scheme", ["http", "https", "ssh", "git"])
def test_a_password_is_not_printed_by_git_either(scheme: str, password: str, volume: Volume) -> None:
    """Nothing listens on this port."""
    done = volume.run(f"{scheme}://trainer:{password}@127.0.0.1:1/sdxl.git", "0" * 40)
    assert "hunter" not in done.stdout + done.stderr
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trainform: ")


# Addresses that are malformed, or hold a credential in another place than before the host.
MALFORMED = [
    "https://u:12/hunter2@127.0.0.1:1/x",
    "https://hunt/hunter2@127.0.0.1:1/x",
    "https://u:hunter2/hunter3@127.0.0.1:1/x",
    "u:hunter2@127.0.0.1:x",
    "https:/u:hunter2@127.0.0.1:1/x",
    "https//u:hunter2@127.0.0.1:1/x",
    "//u:hunter2@127.0.0.1:1/x",
    "https://127.0.0.1:1/x?access_token=hunter2",
    "https://127.0.0.1:1/x?access_token=hunter2@hunter3",
    "https://u@127.0.0.1:1/x?private_token=hunter2/hunter3",
    "https://127.0.0.1:1/x#hunter2",
    "https://:hunter2@127.0.0.1:1/x",
    "https://hunter2@127.0.0.1:1/x",
]


@pytest.mark.parametrize("address", MALFORMED)
def test_a_password_in_a_malformed_address_is_not_printed(address: str, shell: Path, volume: Volume) -> None:
    volume.shell = shell
    done = volume.run(address, "0" * 40, GIT_TERMINAL_PROMPT="0")
    assert "hunt" not in done.stdout + done.stderr
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trainform: ")


@pytest.mark.parametrize("scheme", ["ssh", "git"])
def test_a_password_that_nobody_asks_for(scheme: str, volume: Volume) -> None:
    """To ssh it would be a part of the user's name, which it prints when it is refused."""
    done = volume.run(f"{scheme}://trainer:hunter2@git.example.com/sdxl.git", "0" * 40)
    reason = f"the address of the repository holds a password, and {scheme} takes none: write https://, or use a key"
    assert (done.returncode, done.stderr) == (1, f"trainform: {reason}\n")


@pytest.mark.parametrize("host", ["127.0.0.1:1", "[::1]:1", "git.example.invalid"])
def test_an_at_sign_that_ends_no_password(host: str, volume: Volume) -> None:
    """A user name before it cannot be told from a password whose `/` is not escaped."""
    done = volume.run(f"git://{host}/sdxl@v1.git", "0" * 40)
    assert done.stderr.startswith("trainform: ***@v1.git cannot be fetched:\n")
    done = volume.run(f"git://{host}/sdxl.git", "0" * 40)
    assert done.stderr.startswith(f"trainform: git://{host}/sdxl.git cannot be fetched:\n")
