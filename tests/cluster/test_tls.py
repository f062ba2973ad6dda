"""Tests of the TLS contexts that several threads use."""

import ssl

from trainform.cluster.tls import set_protocols_once


def hello(context: ssl.SSLContext) -> bytes:
    """Return the first message of a handshake."""
    sent = ssl.MemoryBIO()
    connection = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="gpu.example.org")
    try:
        connection.do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()
    raise AssertionError("a handshake without an answer has ended")


def test_a_later_change_of_the_protocols_does_not_reach_the_context() -> None:
    context = set_protocols_once(ssl.create_default_context())
    context.set_alpn_protocols(["h2"])

    assert b"\x00\x09\x08http/1.1" in hello(context)
