"""The remote reranker against a real server that misbehaves."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from kb.config import RerankSettings
from kb.errors import RerankFailed
from kb.protocols import Reranker
from kb.rerank import registry

KEY = "rr-secret-of-the-test"
Answer = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body, dict(self.headers)))
        self.server.answer(self, body)

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
        self.answer: Answer = good

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/rerank"

    def reranker(self, answer: Answer | None = None, kind: str = "http", name: str | None = "some-model") -> Reranker:
        self.answer = answer or good
        return registry.load(RerankSettings(model=f"{kind}:{self.url}", remote_model=name, api_key_env="TEST_KEY"))


def good(handler: Handler, body: dict[str, Any]) -> None:
    """By length, worst first, as a server may answer in any order."""
    results = [{"index": n, "relevance_score": len(text) / 100} for n, text in enumerate(body["documents"])]
    handler.reply({"results": results[::-1]})


def say(content: object, status: int = 200, **headers: str) -> Answer:
    return lambda handler, body: handler.reply(content, status, **headers)


def ask(reranker: Reranker, *texts: str, seconds: float = 5.0) -> list[float]:
    return reranker.rerank("a query", texts or ("a", "bb"), time.monotonic() + seconds)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("TEST_KEY", KEY)
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        running.shutdown()


def test_opinions_come_in_the_order_of_the_texts(server: Server) -> None:
    assert ask(server.reranker(), "x" * 30, "x" * 10, "x" * 20) == [0.3, 0.1, 0.2]
    path, body, headers = server.asked[0]
    assert (path, body["query"], body["model"]) == ("/v1/rerank", "a query", "some-model")
    assert body["documents"] == ["x" * 30, "x" * 10, "x" * 20]
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Accept-Encoding"] == "identity"


def test_text_embeddings_inference_is_spoken_to_in_its_own_words(server: Server) -> None:
    def tei(handler: Handler, body: dict[str, Any]) -> None:
        handler.reply([{"index": n, "score": 0.5} for n in range(len(body["texts"]))])

    assert ask(server.reranker(tei, "tei", None)) == [0.5, 0.5]
    assert set(server.asked[0][1]) == {"query", "texts"}


def test_raw_logits_are_squashed(server: Server) -> None:
    results = [{"index": 0, "relevance_score": -3.0}, {"index": 1, "relevance_score": 800.0}]
    low, high = ask(server.reranker(say({"results": results})))
    assert 0 < low < 0.05
    assert 0.99 < high <= 1


def test_nothing_is_sent_before_it_is_needed_or_too_late(server: Server) -> None:
    reranker = server.reranker()
    assert reranker.rerank("q", [], time.monotonic() + 5) == []
    assert ask(reranker, seconds=-1) == []
    assert server.asked == []


def test_odd_characters_are_sent_as_text(server: Server) -> None:
    server.reranker().rerank("a\x00b", ["c\ud800"], time.monotonic() + 5)
    assert server.asked[0][1]["query"] == "a b"
    assert server.asked[0][1]["documents"] == ["c?"]


WRONG: dict[str, object] = {
    "not JSON": b"<html>sorry</html>",
    "deep JSON": b"[" * 100_000,
    "no results": {"object": "list"},
    "too few": {"results": [{"index": 0, "relevance_score": 0.5}]},
    "the same index twice": {"results": [{"index": 0, "relevance_score": 0.5}] * 2},
    "an index out of range": {"results": [{"index": n, "relevance_score": 0.5} for n in (0, 2)]},
    "an index that is a bool": {"results": [{"index": n, "relevance_score": 0.5} for n in (0, True)]},
    "no score": {"results": [{"index": 0}, {"index": 1}]},
    "text": {"results": [{"index": n, "relevance_score": "0.5"} for n in (0, 1)]},
    "NaN": b'{"results": [{"index": 0, "relevance_score": NaN}, {"index": 1, "relevance_score": 0.5}]}',
    "a huge integer": {"results": [{"index": n, "relevance_score": 10**400} for n in (0, 1)]},
    "items that are not objects": {"results": [0.5, 0.5]},
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG.keys())
def test_wrong_answers_are_refused(server: Server, content: object) -> None:
    with pytest.raises(RerankFailed) as caught:
        ask(server.reranker(say(content)))
    assert caught.value.fix
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 307, 400, 401, 404, 422, 429, 500, 503])
def test_other_statuses_are_one_error_without_the_key(server: Server, status: int) -> None:
    with pytest.raises(RerankFailed, match=str(status)) as caught:
        ask(server.reranker(say({"error": f"bad key {KEY}"}, status, Location="http://169.254.169.254/")))
    assert len(server.asked) == 1
    assert caught.value.fix
    assert KEY not in str(caught.value) + caught.value.fix + str(caught.value.details)
    assert "embed" not in str(caught.value) + caught.value.fix


def test_silence_meets_the_deadline(server: Server) -> None:
    began = time.monotonic()
    with pytest.raises(RerankFailed, match="did not answer"):
        ask(server.reranker(lambda handler, body: time.sleep(2)), seconds=0.2)
    assert time.monotonic() - began < 1


def test_endless_answers_are_cut_off(server: Server) -> None:
    def endless(handler: Handler, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b" " * 65536)
        except OSError:
            pass

    with pytest.raises(RerankFailed, match="longer than"):
        ask(server.reranker(endless))


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/rerank",
        "http://[fe80::1]/rerank",
        "http://[fd00:ec2::254]/rerank",
        "file:///etc/passwd",
        "127.0.0.1:8080/rerank",
        "http://user:password@127.0.0.1/rerank",
        "http://127.0.0.1/rerank HTTP/1.1",
    ],
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(RerankFailed) as caught:
        ask(registry.load(RerankSettings(model=f"http:{url}")))
    assert caught.value.fix
    assert "broke off" not in str(caught.value), "it must be refused, not tried"


def test_a_key_with_a_line_break_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "abc\r\nX-Evil: 1")
    with pytest.raises(RerankFailed):
        ask(server.reranker())
    assert server.asked == []
