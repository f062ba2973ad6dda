"""A store like S3 on loopback: moto's server, in a process of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx2

SECONDS = 60.0
ACCOUNT = {"AWS_ACCESS_KEY_ID": "anna", "AWS_SECRET_ACCESS_KEY": "t0ken-of-anna", "AWS_REGION": "us-east-1"}


@contextlib.contextmanager
def s3() -> Iterator[str]:
    """Yield the store while it runs: its host and port."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    words = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(f"http://127.0.0.1:{port}/moto-api/", process)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx2.HTTPError):
            httpx2.get(url)
            return
        time.sleep(0.2)
    raise AssertionError("the store does not answer")


def make_bucket(store: str, name: str) -> str:
    """Make a bucket; the address by which Pulumi keeps states in it."""
    assert httpx2.put(f"http://{store}/{name}").status_code == 200
    return f"s3://{name}?endpoint={store}&disableSSL=true&s3ForcePathStyle=true&region=us-east-1"
