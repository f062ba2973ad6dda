"""A simulated internet: a proxy on loopback with real host names, TLS with its own authority, and responses with all
kinds of errors.

Clients use it through `https_proxy` and `SSL_CERT_FILE` in the environment, without changes to their code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import http.server
import io
import json
import ssl
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from trainform.local.sandbox.certificates import CURVE, Authority
from trainform.local.toolchain.download import module_hash

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIGURATION = "application/vnd.oci.image.config.v1+json"


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that was received."""

    url: str
    headers: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Answer:
    """A response. `cut`: the connection is closed after so many bytes. `stall`: after so many bytes nothing is sent
    until the end of the test."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cut: int | None = None
    stall: int | None = None


Site = Answer | Callable[[Request], Answer]


def redirect(url: str) -> Answer:
    return Answer(status=302, headers={"Location": url})


class Internet:
    """`sites` maps URLs to responses. An unknown URL is answered with 404; an unknown host cannot be reached."""

    def __init__(self, folder: Path) -> None:
        self.sites: dict[str, Site] = {}
        self.requests: list[Request] = []
        self.over = threading.Event()
        self._folder = folder
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self._authority = Authority("authority of a test", ec.generate_private_key(CURVE))
        trusted = folder / "authority.pem"
        trusted.write_bytes(self._authority.certificate)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.internet = self
        self.environment = {
            "https_proxy": f"http://127.0.0.1:{self._server.server_address[1]}",
            "SSL_CERT_FILE": str(trusted),
        }

    @contextlib.contextmanager
    def serving(self) -> Iterator[Internet]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def asked(self, url: str) -> list[Request]:
        return [request for request in self.requests if request.url == url]

    def context(self, host: str) -> ssl.SSLContext:
        """Return the TLS settings of a host, with a certificate for its name."""
        with self._lock:
            if host not in self._contexts:
                certificate, key = self._folder / f"{host}.crt", self._folder / f"{host}.key"
                self._authority.sign(f"CN={host}", (host,), certificate, key)
                self._contexts[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self._contexts[host].load_cert_chain(certificate, key)
            return self._contexts[host]

    def reaches(self, host: str) -> bool:
        return any(url.startswith(f"https://{host}/") for url in self.sites)

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        site = self.sites.get(request.url, Answer(b"not found", 404))
        return site if isinstance(site, Answer) else site(request)


class _Server(http.server.ThreadingHTTPServer):
    internet: Internet
    block_on_close = False


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server
    host = ""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_CONNECT(self) -> None:
        """Open a tunnel to a host, which is this server too."""
        self.host = self.path.removesuffix(":443")
        if not self.server.internet.reaches(self.host):
            self.send_error(502)
            return
        self.send_response(200)
        self.end_headers()
        plain = self.rfile, self.wfile
        try:
            with self.server.internet.context(self.host).wrap_socket(self.connection, server_side=True) as tunnel:
                self.rfile, self.wfile = tunnel.makefile("rb"), tunnel.makefile("wb")
                with self.rfile, self.wfile:
                    self.handle_one_request()
        except OSError:
            pass  # the client may close the connection at any time
        finally:
            self.rfile, self.wfile = plain

    def do_GET(self) -> None:
        url = f"https://{self.host}{self.path}"
        internet = self.server.internet
        answer = internet.answer(Request(url, dict(self.headers)))
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body[: answer.cut if answer.stall is None else answer.stall])
        self.wfile.flush()
        if answer.stall is not None:
            internet.over.wait()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive(members: Mapping[str, bytes]) -> bytes:
    """Return a .tar.gz with programs; a name that ends with a slash is a folder."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as content:
        for name, body in members.items():
            member = tarfile.TarInfo(name.rstrip("/"))
            member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            member.size, member.mode = len(body), 0o755
            content.addfile(member, io.BytesIO(body))
    return gzip.compress(file.getvalue(), mtime=0)  # equal bytes in each call


def module(path: str, version: str, files: Mapping[str, bytes]) -> tuple[bytes, str]:
    """Return the .zip of a module, as on a Go proxy, and its hash."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as content:
        for name, body in files.items():
            content.writestr(f"{path}@v{version}/{name}", body)
    with zipfile.ZipFile(file) as content:
        return file.getvalue(), module_hash(content)


def _described(kind: str, content: bytes) -> dict[str, object]:
    return {"mediaType": kind, "digest": f"sha256:{sha256(content)}", "size": len(content)}


@dataclasses.dataclass
class Registry:
    """A registry that requires a token for each repository, and redirects to another host for blobs."""

    internet: Internet
    host: str
    realm: str
    storage: str

    def publish(
        self, repository: str, tag: str, layers: Sequence[bytes], platforms: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Publish an image with the same layers (lowest first) for each platform, and return the layers' URLs."""
        blobs = [self._blob(repository, layer) for layer in layers]
        rows = [_described(LAYER, layer) for layer in layers]
        entries = [{**_described(MANIFEST, b"{}"), "platform": {"os": "unknown", "architecture": "unknown"}}]
        for system, machine in platforms:
            platform = {"os": system, "architecture": machine}
            config = _described(CONFIGURATION, json.dumps(platform).encode())
            content = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": rows}
            manifest = json.dumps(content).encode()
            self._put(repository, f"manifests/sha256:{sha256(manifest)}", manifest, MANIFEST)
            entries.append({**_described(MANIFEST, manifest), "platform": platform})
        index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()
        self._put(repository, f"manifests/{tag}", index, INDEX)
        return blobs

    def _blob(self, repository: str, content: bytes) -> str:
        address = f"https://{self.storage}/{sha256(content)}"
        self.internet.sites[address] = Answer(content)
        self._guard(repository, f"blobs/sha256:{sha256(content)}", redirect(address))
        return address

    def _put(self, repository: str, path: str, content: bytes, kind: str) -> None:
        headers = {"Content-Type": kind, "Docker-Content-Digest": f"sha256:{sha256(content)}"}
        self._guard(repository, path, Answer(content, headers=headers))

    def _guard(self, repository: str, path: str, answer: Answer) -> None:
        scope = f"repository:{repository}:pull"
        challenge = f'Bearer realm="https://{self.realm}/token",service="{self.host}",scope="{scope}"'

        def ask(request: Request) -> Answer:
            if request.headers.get("Authorization") == f"Bearer pull-{scope}":
                return answer
            return Answer(b"{}", 401, {"WWW-Authenticate": challenge})

        def give(request: Request) -> Answer:
            return Answer(json.dumps({"token": f"pull-{scope}"}).encode())

        self.internet.sites[f"https://{self.host}/v2/{repository}/{path}"] = ask
        query = f"service={self.host}&scope={scope.replace(':', '%3A').replace('/', '%2F')}"
        self.internet.sites[f"https://{self.realm}/token?{query}"] = give
