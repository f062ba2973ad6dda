"""`exec` and `port-forward` through the API server, over WebSockets."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import wsproto
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Message, RejectConnection, Request

from tests.local.sandbox.conftest import state_of
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.folder import Layout

STDOUT, STDERR, STATUS = 1, 2, 3
DATA = 0
SECONDS = 30


class Stream:
    """A stream of the API server, in the channels of `v4.channel.k8s.io`."""

    def __init__(self, folder: Path, path: str) -> None:
        files = Certificates(Layout(folder).pki)
        tls = ssl.create_default_context(cafile=str(files.authority))
        tls.load_cert_chain(files.client, files.client_key)
        plain = socket.create_connection(("127.0.0.1", state_of(folder).ports["kube-apiserver"]), SECONDS)
        self._socket = tls.wrap_socket(plain, server_hostname="localhost")
        self._protocol = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
        request = Request(host="localhost", target=path, subprotocols=["v4.channel.k8s.io"])
        self._socket.sendall(self._protocol.send(request))

    def send(self, channel: int, content: bytes) -> None:
        """Write into a channel."""
        self._socket.sendall(self._protocol.send(Message(data=bytes([channel]) + content)))

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """Yield each message with its channel, until the server ends the stream."""
        with self._socket:
            while received := self._socket.recv(65536):
                self._protocol.receive_data(received)
                for event in self._protocol.events():
                    assert not isinstance(event, RejectConnection), event
                    if isinstance(event, AcceptConnection):
                        yield -1, b""
                    elif isinstance(event, BytesMessage):
                        yield event.data[0], bytes(event.data[1:])
                    elif isinstance(event, CloseConnection):
                        return


def execute(folder: Path, pod: str, *command: str) -> tuple[str, str, dict[str, Any]]:
    """Run a command in a pod of the namespace default; return its output, its errors and the status."""
    query = urlencode([("stdout", "1"), ("stderr", "1"), *(("command", word) for word in command)])
    texts = {STDOUT: b"", STDERR: b"", STATUS: b""}
    for channel, content in Stream(folder, f"/api/v1/namespaces/default/pods/{pod}/exec?{query}").messages():
        if channel in texts:
            texts[channel] += content
    return texts[STDOUT].decode(), texts[STDERR].decode(), json.loads(texts[STATUS])


def forward(folder: Path, pod: str, port: int, request: bytes) -> bytes:
    """Send a request to a port of a pod; return what it answers."""
    stream = Stream(folder, f"/api/v1/namespaces/default/pods/{pod}/portforward?ports={port}")
    answer = b""
    for channel, content in stream.messages():
        if channel == -1:
            stream.send(DATA, request)
        elif channel == DATA and content != port.to_bytes(2, "little"):  # the first message names the port
            answer += content
    return answer
