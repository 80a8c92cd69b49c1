"""One HTTP POST to a model server, with http.client: no redirect, no compression, a limit on bytes and one on time.

Refused before anything is sent: other schemes than http and https, credentials in the address, and hosts that lead to
link-local addresses, where clouds keep their metadata and keys. Proxies of the environment are not used.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from kb.errors import KBError

READ_BYTES = 1 << 16
SHOWN_CHARS = 200  # of a server's error message
AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
METADATA = (ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200"))


class Retriable(Exception):
    """A failure that may pass. `after_s` is what the server asked for."""

    def __init__(self, message: str, *, after_s: float | None = None) -> None:
        super().__init__(message)
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a server is for: how messages call it, which error they are, and what to do about them."""

    server: str  # "embedding server"
    setting: str  # that holds its address
    error: type[KBError]
    address_fix: str
    fixes: Mapping[int, str]  # by status


@dataclass(frozen=True, slots=True)
class Server:
    purpose: Purpose
    secure: bool
    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def post(self, body: bytes, headers: dict[str, str], timeout_s: float, most_bytes: int) -> bytes:
        """The body of a 200 answer. Raises Retriable for what may pass, the purpose's error for what will not."""
        connection = Connection(self, self._addresses(), timeout_s)
        alarm = threading.Timer(timeout_s, connection.abort)  # also ends an answer that drips byte by byte
        alarm.daemon = True
        alarm.start()
        try:
            connection.request("POST", self.path, body, {**headers, "Accept-Encoding": "identity"})
            answer = connection.getresponse()
            with answer:
                content = read(answer, most_bytes, self.purpose)
        except (OSError, http.client.HTTPException) as cause:
            if isinstance(cause, TimeoutError) or connection.aborted:
                raise Retriable(f"{self.name} did not answer within {timeout_s:.3g} s") from None
            raise Retriable(f"{self.name} broke off: {type(cause).__name__}") from None
        finally:
            alarm.cancel()
            connection.close()
        judge(self, answer, content, headers)
        return content

    def _addresses(self) -> list[str]:
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise Retriable(f"{self.host} has no address") from None
        addresses = [str(entry[4][0]) for entry in found]
        for address in addresses:
            refuse_link_local(address, self.host, self.purpose)
        return addresses


class Connection(http.client.HTTPConnection):
    """To the addresses that were checked: a second look at the name could lead to another one."""

    def __init__(self, server: Server, addresses: list[str], timeout_s: float) -> None:
        super().__init__(server.host, server.port, timeout=timeout_s)
        self._server, self._addresses = server, addresses
        self.aborted = False

    def connect(self) -> None:
        self.sock = self._first_that_answers()
        if self._server.secure:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self._server.host)

    def _first_that_answers(self) -> socket.socket:
        """`localhost` is often ::1 and 127.0.0.1, with a server on one of the two."""
        for address in self._addresses[:-1]:
            with contextlib.suppress(OSError):
                return socket.create_connection((address, self._server.port), self.timeout)
        return socket.create_connection((self._addresses[-1], self._server.port), self.timeout)

    def abort(self) -> None:
        self.aborted = True
        if self.sock is not None:
            with contextlib.suppress(OSError):  # it may be closed already
                self.sock.shutdown(socket.SHUT_RDWR)


def parse(url: str, purpose: Purpose) -> Server:
    error, fix = purpose.error, purpose.address_fix
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as cause:
        raise error(f"the {purpose.server}'s address is not one: {cause}", fix=fix) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise error(f"the {purpose.server} is reached by http or https", fix=fix)
    if parts.username is not None or parts.password is not None:
        raise error(f"the {purpose.server}'s address holds credentials", fix="name the key in the environment")
    path = parts.path or "/"
    if not (path.isascii() and path.isprintable()) or " " in path:
        raise error(f"the {purpose.server}'s address has characters that none has", fix=fix)
    secure = parts.scheme == "https"
    return Server(purpose, secure, parts.hostname, port or (443 if secure else 80), path)


def authorized(variable: str, error: type[KBError]) -> dict[str, str]:
    """Headers of a JSON request, with the key that this variable of the environment holds, if any."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise error(f"the key in {variable} has characters that no key has", fix=f"set {variable} again")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return headers


def judge(server: Server, answer: http.client.HTTPResponse, content: bytes, headers: dict[str, str]) -> None:
    """Raise unless the answer is a plain 200."""
    status, name, purpose = answer.status, server.name, server.purpose
    if status == 200:
        if (answer.getheader("Content-Encoding") or "identity").lower() != "identity":
            raise purpose.error(f"{name} compressed its answer, which it was asked not to do")
        return
    if status in AGAIN:
        raise Retriable(f"{name} answered {status}", after_s=seconds(answer.getheader("Retry-After")))
    if 300 <= status < 400:
        raise purpose.error(f"{name} redirects elsewhere ({status})", fix=f"set {purpose.setting} to where it leads")
    details = {"status": status, "answer": shown(content, headers)}
    fix = purpose.fixes.get(status, purpose.address_fix)
    raise purpose.error(f"{name} answered {status}", fix=fix, details=details)


def shown(content: bytes, headers: dict[str, str]) -> str:
    """The start of what a server said, without the key in case it repeats it."""
    said = content.decode("utf-8", "replace")
    key = headers.get("Authorization", "").removeprefix("Bearer ")
    if key:
        said = said.replace(key, "(the key)")
    return "".join(char if char.isprintable() else " " for char in said[:SHOWN_CHARS])


def read(answer: http.client.HTTPResponse, most_bytes: int, purpose: Purpose) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := answer.read1(READ_BYTES):
        size += len(part)
        if size > most_bytes:
            raise purpose.error(f"the {purpose.server}'s answer is longer than {most_bytes} bytes")
        parts.append(part)
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)
    return b"".join(parts)


def refuse_link_local(address: str, host: str, purpose: Purpose) -> None:
    found = ipaddress.ip_address(address.split("%")[0])
    inner = getattr(found, "ipv4_mapped", None) or found
    if inner.is_link_local or inner.is_multicast or inner in METADATA:
        raise purpose.error(f"{host} leads to {inner}, a link-local address", fix=purpose.address_fix)


def seconds(header: str | None) -> float | None:
    """Retry-After in seconds; its other form, a date, is left to the backoff."""
    try:
        return max(float(header), 0.0) if header else None
    except ValueError:
        return None
