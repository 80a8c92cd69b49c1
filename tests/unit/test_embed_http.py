"""The remote embedder against a real server that misbehaves in every way it can."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kb.config import EmbedSettings
from kb.embed import transport
from kb.embed.http import HTTPEmbedder
from kb.embed.retry import LONGEST_PAUSE_S, Retry
from kb.errors import EmbedderFailed, KBError

KEY = "sk-secret-of-the-test"
Answer = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """Keeps what it was asked; answers as the test says."""

    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, dict(self.headers)))
        number = min(len(self.server.asked), len(self.server.answers)) - 1
        self.server.answers[number](self, body)

    def reply(self, content: bytes | object, status: int = 200, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content_Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        pass  # keep standard error clean


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.answers: list[Answer] = []

    def embedder(
        self, *answers: Answer, retries: int = 0, timeout_s: float = 5.0, batch: int = 64, query_timeout_s: float = 5.0
    ) -> HTTPEmbedder:
        self.answers = list(answers)
        url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        settings = EmbedSettings(
            base_url=url, timeout_s=timeout_s, retries=retries, batch=batch, query_timeout_s=query_timeout_s
        )
        return HTTPEmbedder("some-model", settings, Retry(retries, timeout_s, first_pause_s=0.01))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()


def data(*vectors: object) -> dict[str, Any]:
    return {"data": [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]}


def good(handler: Handler, body: dict[str, Any]) -> None:
    handler.reply(data(*[[3.0, 4.0 + len(text)] for text in body["input"]]))


def say(content: object, status: int = 200, **headers: str) -> Answer:
    return lambda handler, body: handler.reply(content, status, **headers)


def test_vectors_come_back_in_order_and_of_unit_length(server: Server) -> None:
    def backwards(handler: Handler, body: dict[str, Any]) -> None:
        items = data(*[[float(len(text)), 0.0, 1.0] for text in body["input"]])["data"]
        handler.reply({"data": items[::-1]})

    vectors = server.embedder(backwards).embed_passages(["a", "bbbb"])
    first, second = (struct.unpack("<3f", vector) for vector in vectors)
    assert first == pytest.approx((0.5**0.5, 0, 0.5**0.5))
    assert second[0] > first[0]


def test_texts_go_in_batches_with_the_key_and_the_model(server: Server) -> None:
    embedder = server.embedder(good, batch=2)
    assert len(embedder.embed_passages(["a", "b", "c"])) == 3
    assert [body["input"] for _, body, _ in server.asked] == [["a", "b"], ["c"]]
    path, body, headers = server.asked[0]
    assert (path, body["model"], headers["Authorization"]) == ("/v1/embeddings", "some-model", f"Bearer {KEY}")
    assert embedder.info.dimension == 2
    assert embedder.info.remote


def test_empty_texts_are_not_sent_and_are_zero(server: Server) -> None:
    vectors = server.embedder(good).embed_passages(["a", " ", ""])
    assert server.asked[0][1]["input"] == ["a"]
    assert vectors[1] == vectors[2] == bytes(8)


def test_nothing_is_sent_before_it_is_needed(server: Server) -> None:
    server.embedder(good)
    assert server.asked == []


def test_odd_characters_are_sent_as_text(server: Server) -> None:
    server.embedder(good).embed_query("a\x00b\ud800")
    assert server.asked[0][1]["input"] == ["a b?"]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_what_may_pass_is_tried_again(server: Server, status: int) -> None:
    embedder = server.embedder(say({}, status), say({}, status, Retry_After="0"), good, retries=3)
    assert embedder.embed_query("a")
    assert len(server.asked) == 3


def test_tries_are_counted(server: Server) -> None:
    with pytest.raises(EmbedderFailed, match=r"503 \(tried 3 times\)"):
        server.embedder(say({}, 503), retries=2).embed_query("a")
    assert len(server.asked) == 3


def test_a_long_retry_after_does_not_outlast_the_deadline(server: Server) -> None:
    began = time.monotonic()
    with pytest.raises(EmbedderFailed, match="429"):
        server.embedder(say({}, 429, Retry_After="86400"), retries=3, timeout_s=1).embed_query("a")
    assert time.monotonic() - began < 2
    assert Retry(3, 99).pause_s(0, 86400.0) == LONGEST_PAUSE_S


def test_a_query_is_not_tried_for_as_long_as_a_batch(server: Server) -> None:
    embedder = server.embedder(say({}, 429, Retry_After="3"), retries=3, timeout_s=60, query_timeout_s=0.5)
    began = time.monotonic()
    with pytest.raises(EmbedderFailed, match="429"):
        embedder.embed_query("a")
    assert time.monotonic() - began < 1


@pytest.mark.parametrize("header", ["soon", "Wed, 21 Oct 2026 07:28:00 GMT", "-5", ""])
def test_an_odd_retry_after_is_survived(server: Server, header: str) -> None:
    assert server.embedder(say({}, 429, Retry_After=header), good, retries=1).embed_query("a")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_will_not_pass_is_not_tried_again(server: Server, status: int) -> None:
    with pytest.raises(EmbedderFailed, match=str(status)) as caught:
        server.embedder(say({"error": f"bad key {KEY}"}, status), retries=3).embed_query("a")
    assert len(server.asked) == 1
    assert caught.value.fix
    assert KEY not in str(caught.value) + caught.value.fix + str(caught.value.details)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(server: Server, status: int) -> None:
    with pytest.raises(EmbedderFailed, match="redirects"):
        server.embedder(say({}, status, Location="http://169.254.169.254/")).embed_query("a")
    assert len(server.asked) == 1


WRONG: dict[str, object] = {
    "not JSON": b"<html>sorry</html>",
    "nothing": b"",
    "deep JSON": b"[" * 100_000,
    "a list": [1],
    "no data": {"object": "list"},
    "data that is no list": {"data": {"0": [1.0]}},
    "too few": data([1.0, 2.0]),
    "too many": data([1.0, 2.0], [1.0, 2.0], [1.0, 2.0]),
    "the same index twice": {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
    "an index out of range": {"data": [{"index": 0, "embedding": [1.0]}, {"index": 9, "embedding": [1.0]}]},
    "an index that is a bool": {"data": [{"index": 0, "embedding": [1.0]}, {"index": True, "embedding": [1.0]}]},
    "items that are not objects": {"data": [[1.0], [1.0]]},
    "no vector": {"data": [{"index": 0}, {"index": 1}]},
    "an empty vector": data([], []),
    "null": data([1.0, None], [1.0, 1.0]),
    "text": data(["1.0", 2.0], [1.0, 1.0]),
    "a bool": data([True, 2.0], [1.0, 1.0]),
    "base64": data("AACAPwAAAEA=", "AACAPwAAAEA="),
    "zeros": data([0.0, 0.0], [1.0, 1.0]),
    "NaN": b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}, {"index": 1, "embedding": [1.0, 1.0]}]}',
    "infinity": b'{"data": [{"index": 0, "embedding": [1e999, 1.0]}, {"index": 1, "embedding": [1.0, 1.0]}]}',
    "a huge integer": data([10**400, 1], [1.0, 1.0]),
    "two dimensions at once": data([1.0, 2.0], [1.0, 2.0, 3.0]),
    "too many dimensions": data([1.0] * 20_000, [1.0] * 20_000),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG.keys())
def test_wrong_answers_are_refused(server: Server, content: object) -> None:
    with pytest.raises(EmbedderFailed) as caught:
        server.embedder(say(content), retries=1).embed_passages(["a", "b"])
    assert len(server.asked) == 1
    assert caught.value.fix


def test_a_dimension_that_changes_is_refused(server: Server) -> None:
    embedder = server.embedder(good, say(data([1.0, 2.0, 3.0])))
    embedder.embed_query("a")
    with pytest.raises(EmbedderFailed, match="3 dimensions where 2"):
        embedder.embed_query("b")


def test_extreme_numbers_still_make_a_unit_vector(server: Server) -> None:
    vector = server.embedder(say(data([1e308, 1e308]))).embed_query("a")
    assert struct.unpack("<2f", vector) == pytest.approx((0.5**0.5, 0.5**0.5))


def test_compressed_answers_are_refused(server: Server) -> None:
    with pytest.raises(EmbedderFailed, match="compressed"):
        server.embedder(say(b"\x1f\x8b", Content_Encoding="gzip")).embed_query("a")
    assert server.asked[0][2]["Accept-Encoding"] == "identity"


def test_endless_answers_are_cut_off(server: Server) -> None:
    def endless(handler: Handler, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * 65536)
        except OSError:
            pass

    with pytest.raises(EmbedderFailed, match="longer than"):
        server.embedder(endless).embed_query("a")


def test_an_answer_that_drips_meets_the_deadline(server: Server) -> None:
    def drip(handler: Handler, body: dict[str, Any]) -> None:
        try:
            for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 1000:
                handler.wfile.write(bytes([byte]))
                handler.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass

    began = time.monotonic()
    with pytest.raises(EmbedderFailed, match="did not answer"):
        server.embedder(drip, timeout_s=0.5).embed_query("a")
    assert time.monotonic() - began < 1.5


def test_silence_meets_the_deadline(server: Server) -> None:
    with pytest.raises(EmbedderFailed, match="did not answer"):
        server.embedder(lambda handler, body: time.sleep(2), timeout_s=0.3).embed_query("a")


def test_an_answer_that_breaks_off_is_tried_again(server: Server) -> None:
    assert server.embedder(say(b"{", Content_Length="999"), good, retries=1).embed_query("a")


def test_a_connection_that_is_dropped_is_tried_again(server: Server) -> None:
    assert server.embedder(lambda handler, body: None, good, retries=1).embed_query("a")


def test_a_server_that_is_not_there(server: Server) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(EmbedderFailed, match="broke off") as caught:
        server.embedder(good).embed_query("a")
    assert "doctor" in caught.value.fix


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://[fe80::1]/v1",
        "http://[::ffff:169.254.169.254]/v1",
        "http://[fd00:ec2::254]/v1",
        "http://2852039166/v1",
        "file:///etc/passwd",
        "ftp://127.0.0.1/v1",
        "127.0.0.1:11434/v1",
        "http://user:password@127.0.0.1/v1",
        "http://127.0.0.1:99999/v1",
        "http://[::1/v1",
        "http:///v1",
        "http://127.0.0.1/v1 HTTP/1.1",
    ],
)
def test_addresses_that_are_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = EmbedSettings(base_url=url, retries=0, timeout_s=1)
    with pytest.raises(EmbedderFailed) as caught:
        HTTPEmbedder("some-model", settings).embed_query("a")
    assert KEY not in str(caught.value)
    assert caught.value.fix
    assert "broke off" not in str(caught.value), "it must be refused, not tried"


def test_the_official_server_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EmbedderFailed, match="key") as caught:
        HTTPEmbedder("some-model", EmbedSettings()).embed_query("a")
    assert "OPENAI_API_KEY" in caught.value.fix


def test_a_key_with_a_line_break_is_refused_without_showing_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "abc\r\nX-Evil: 1")
    with pytest.raises(KBError) as caught:
        server.embedder(good).embed_query("a")
    assert "Evil" not in str(caught.value)
    assert server.asked == []


def test_identities_differ_by_model_server_and_dimension() -> None:
    def revision(model: str, url: str, dimension: int) -> str:
        return HTTPEmbedder(model, EmbedSettings(base_url=url, dimension=dimension)).info.revision

    first, again, *others = (
        revision("a", "http://127.0.0.1/v1", 8),
        revision("a", "http://127.0.0.1/v1/", 8),
        revision("b", "http://127.0.0.1/v1", 8),
        revision("a", "http://127.0.0.2/v1", 8),
        revision("a", "http://127.0.0.1/v1", 9),
    )
    assert first == again
    assert first not in others


def test_localhost_is_found_on_either_address(server: Server) -> None:
    server.answers = [good]
    settings = EmbedSettings(base_url=f"http://localhost:{server.server_address[1]}/v1", retries=0)
    assert HTTPEmbedder("some-model", settings).embed_query("a")
    assert transport.parse("https://example.org/v1").port == 443
