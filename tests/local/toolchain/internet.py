"""A simulated internet: a proxy on loopback with real host names, TLS with its own authority, and responses with all
kinds of errors.

Clients use it through `https_proxy` and `SSL_CERT_FILE` in the environment, without changes to their code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
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

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from trainform.local.toolchain.unpacking import module_hash

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIGURATION = "application/vnd.oci.image.config.v1+json"


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that was received."""

    method: str
    url: str
    headers: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class Answer:
    """A response. `cut`: the connection is closed after so many bytes. `stall`: after so many bytes nothing is sent
    until the end of the test. `pace`: the body is sent in fifty pieces, with so many seconds between them."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    cut: int | None = None
    stall: int | None = None
    pace: float = 0.0


Site = Answer | Callable[[Request], Answer]


def redirect(url: str) -> Answer:
    return Answer(status=302, headers={"Location": url})


class Internet:
    """`sites` maps URLs to responses. An unknown URL is answered with 404; an unknown host cannot be reached."""

    def __init__(self, folder: Path) -> None:
        self.sites: dict[str, Site] = {}
        self.requests: list[Request] = []
        self.silent: set[str] = set()
        self.over = threading.Event()
        self._authority = _Authority(folder)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.internet = self
        self.environment = {
            "https_proxy": f"http://127.0.0.1:{self._server.server_address[1]}",
            "SSL_CERT_FILE": str(self._authority.certificate),
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

    def asked(self, url: str, method: str = "GET") -> list[Request]:
        return [request for request in self.requests if (request.url, request.method) == (url, method)]

    def context(self, host: str) -> ssl.SSLContext:
        return self._authority.context(host)

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
        if self.host in self.server.internet.silent:
            self.server.internet.over.wait()
            return
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

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        url = f"https://{self.host}{self.path}"
        internet = self.server.internet
        answer = internet.answer(Request(self.command, url, dict(self.headers)))
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        body = answer.body[: answer.cut if answer.stall is None else answer.stall]
        size = len(body) // 50 + 1 if answer.pace else len(body) + 1
        for begin in range(0, len(body), size):
            self.wfile.write(body[begin : begin + size])
            self.wfile.flush()
            internet.over.wait(answer.pace)
        if answer.stall is not None:
            internet.over.wait()


class _Authority:
    """A certificate authority that signs certificates for any host."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
        self.certificate = folder / "authority.pem"
        self.certificate.write_bytes(self._issue(self._name, x509.BasicConstraints(True, None)))

    def context(self, host: str) -> ssl.SSLContext:
        with self._lock:
            if host not in self._contexts:
                file = self._folder / f"{host}.pem"
                name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
                key = self._key.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                )
                file.write_bytes(self._issue(name, x509.SubjectAlternativeName([x509.DNSName(host)])) + key)
                self._contexts[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self._contexts[host].load_cert_chain(file)
            return self._contexts[host]

    def _issue(self, subject: x509.Name, extension: x509.ExtensionType) -> bytes:
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(extension, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return certificate.public_bytes(serialization.Encoding.PEM)


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


@dataclasses.dataclass
class Registry:
    """A registry that requires a token for each repository, and redirects to another host for blobs."""

    internet: Internet
    host: str
    realm: str
    storage: str

    def publish(
        self,
        repository: str,
        tag: str,
        layers: Sequence[bytes],
        platforms: Sequence[tuple[str, str]],
        plain: bool = False,
    ) -> list[str]:
        """Publish an image with the same layers (lowest first) for each platform, and return the blobs' URLs. `plain`:
        without an index."""
        blobs = [self._blob(repository, layer) for layer in layers]
        rows = [{"mediaType": LAYER, "digest": f"sha256:{sha256(layer)}", "size": len(layer)} for layer in layers]
        entries: list[dict[str, object]] = [
            {
                "mediaType": MANIFEST,
                "digest": f"sha256:{'0' * 64}",
                "size": 2,
                "platform": {"os": "unknown", "architecture": "unknown"},
            }
        ]
        manifest = b""
        for system, machine in platforms:
            configuration = json.dumps({"os": system, "architecture": machine}).encode()
            blobs.append(self._blob(repository, configuration))
            config = {
                "mediaType": CONFIGURATION,
                "digest": f"sha256:{sha256(configuration)}",
                "size": len(configuration),
            }
            manifest = json.dumps(
                {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": rows}
            ).encode()
            self.put(repository, f"manifests/sha256:{sha256(manifest)}", manifest, MANIFEST)
            platform = {"os": system, "architecture": machine}
            entries.append(
                {
                    "mediaType": MANIFEST,
                    "digest": f"sha256:{sha256(manifest)}",
                    "size": len(manifest),
                    "platform": platform,
                }
            )
        index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}).encode()
        self.put(repository, f"manifests/{tag}", manifest if plain else index, MANIFEST if plain else INDEX)
        return blobs

    def _blob(self, repository: str, content: bytes) -> str:
        address = f"https://{self.storage}/{sha256(content)}"
        self.internet.sites[address] = Answer(content)
        self._guard(repository, f"blobs/sha256:{sha256(content)}", redirect(address))
        return address

    def put(self, repository: str, path: str, content: bytes, kind: str) -> None:
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
