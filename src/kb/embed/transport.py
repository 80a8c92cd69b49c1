"""One HTTP POST with http.client: no redirect, no compression, a limit on bytes and one on time.

Refused before anything is sent: other schemes than http and https, credentials in the address, and hosts that lead to
link-local addresses, where clouds keep their metadata and keys. Proxies of the environment are not used.
"""

from __future__ import annotations

import contextlib
import http.client
import ipaddress
import socket
import ssl
import threading
from dataclasses import dataclass
from urllib.parse import urlsplit

from kb.embed.retry import Retriable
from kb.errors import EmbedderFailed

READ_BYTES = 1 << 16
SHOWN_CHARS = 200  # of a server's error message
AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
METADATA = (ipaddress.ip_address("fd00:ec2::254"), ipaddress.ip_address("100.100.100.200"))
FIXES = {
    401: "check the key that the setting embed.api_key_env names",
    403: "check that the key may use this model",
    404: "check embed.base_url and the model's name",
    413: "lower embed.batch",
}
ADDRESS_FIX = "set embed.base_url to an address such as http://127.0.0.1:11434/v1"


@dataclass(frozen=True, slots=True)
class Server:
    secure: bool
    host: str
    port: int
    path: str

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def post(self, body: bytes, headers: dict[str, str], timeout_s: float, most_bytes: int) -> bytes:
        """The body of a 200 answer. Raises Retriable for what may pass, EmbedderFailed for what will not."""
        connection = Connection(self, self._addresses(), timeout_s)
        alarm = threading.Timer(timeout_s, connection.abort)  # also ends an answer that drips byte by byte
        alarm.daemon = True
        alarm.start()
        try:
            connection.request("POST", self.path, body, {**headers, "Accept-Encoding": "identity"})
            answer = connection.getresponse()
            with answer:
                content = read(answer, most_bytes)
        except (OSError, http.client.HTTPException) as cause:
            if isinstance(cause, TimeoutError) or connection.aborted:
                raise Retriable(f"{self.name} did not answer within {timeout_s:.3g} s") from None
            raise Retriable(f"{self.name} broke off: {type(cause).__name__}") from None
        finally:
            alarm.cancel()
            connection.close()
        judge(self.name, answer, content, headers)
        return content

    def _addresses(self) -> list[str]:
        try:
            found = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise Retriable(f"{self.host} has no address") from None
        addresses = [str(entry[4][0]) for entry in found]
        for address in addresses:
            refuse_link_local(address, self.host)
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


def parse(url: str) -> Server:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as cause:
        raise EmbedderFailed(f"the embedding server's address is not one: {cause}", fix=ADDRESS_FIX) from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise EmbedderFailed("an embedding server is reached by http or https", fix=ADDRESS_FIX)
    if parts.username is not None or parts.password is not None:
        raise EmbedderFailed("the embedding server's address holds credentials", fix="use embed.api_key_env")
    if not (parts.path.isascii() and parts.path.isprintable()) or " " in parts.path:
        raise EmbedderFailed("the embedding server's address has characters that none has", fix=ADDRESS_FIX)
    secure = parts.scheme == "https"
    return Server(secure, parts.hostname, port or (443 if secure else 80), parts.path)


def judge(name: str, answer: http.client.HTTPResponse, content: bytes, headers: dict[str, str]) -> None:
    """Raise unless the answer is a plain 200."""
    status = answer.status
    if status == 200:
        if (answer.getheader("Content-Encoding") or "identity").lower() != "identity":
            raise EmbedderFailed(f"{name} compressed its answer, which it was asked not to do")
        return
    if status in AGAIN:
        raise Retriable(f"{name} answered {status}", after_s=seconds(answer.getheader("Retry-After")))
    if 300 <= status < 400:
        raise EmbedderFailed(f"{name} redirects elsewhere ({status})", fix="set embed.base_url to where it leads")
    details = {"status": status, "answer": shown(content, headers)}
    raise EmbedderFailed(f"{name} answered {status}", fix=FIXES.get(status, ADDRESS_FIX), details=details)


def shown(content: bytes, headers: dict[str, str]) -> str:
    """The start of what a server said, without the key in case it repeats it."""
    said = content.decode("utf-8", "replace")
    key = headers.get("Authorization", "").removeprefix("Bearer ")
    if key:
        said = said.replace(key, "(the key)")
    return "".join(char if char.isprintable() else " " for char in said[:SHOWN_CHARS])


def read(answer: http.client.HTTPResponse, most_bytes: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := answer.read1(READ_BYTES):
        size += len(part)
        if size > most_bytes:
            raise EmbedderFailed(f"the embedding server's answer is longer than {most_bytes} bytes")
        parts.append(part)
    if answer.length:
        raise http.client.IncompleteRead(b"", answer.length)
    return b"".join(parts)


def refuse_link_local(address: str, host: str) -> None:
    found = ipaddress.ip_address(address.split("%")[0])
    inner = getattr(found, "ipv4_mapped", None) or found
    if inner.is_link_local or inner.is_multicast or inner in METADATA:
        raise EmbedderFailed(f"{host} leads to {inner}, a link-local address", fix=ADDRESS_FIX)


def seconds(header: str | None) -> float | None:
    """Retry-After in seconds; its other form, a date, is left to the backoff."""
    try:
        return max(float(header), 0.0) if header else None
    except ValueError:
        return None
