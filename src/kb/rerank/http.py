"""Any server that speaks the rerank requests of Cohere and Jina, as vLLM and llama.cpp do, or those of TEI.

`http:URL` names the whole address, such as http://127.0.0.1:8080/rerank; `tei:URL` is the same for Hugging Face's
text-embeddings-inference, which calls the documents `texts`. One request, tried once: somebody waits. What comes back
is checked before it is believed.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kb import remote
from kb.errors import RerankFailed

if TYPE_CHECKING:
    from kb.config import RerankSettings

PURPOSE = remote.Purpose(
    server="reranking server",
    setting="rerank.model",
    error=RerankFailed,
    address_fix="set rerank.model to an address such as http:http://127.0.0.1:8080/rerank",
    fixes={
        401: "check the key that the setting rerank.api_key_env names",
        403: "check that the key may use this model",
        404: "check rerank.model and rerank.remote_model",
        413: "lower rerank.top",
        422: "set rerank.remote_model to a model that the server knows",
    },
)
LONGEST_TEXT = 8_000  # characters: rerankers read some 512 tokens, or a few thousand
ENVELOPE = 1 << 16  # bytes of an answer beside its entries
PER_TEXT = 1 << 15  # some servers send the texts back


class HTTPReranker:
    """A remote model. Every failure is a RerankFailed."""

    def __init__(self, url: str, settings: RerankSettings, texts_name: str = "documents") -> None:
        self._server = remote.parse(url, PURPOSE)
        self._settings, self._texts_name = settings, texts_name

    @property
    def label(self) -> str:
        return f"http:{self._server.name}{self._server.path}:{self._settings.remote_model or ''}"

    def rerank(self, query: str, texts: Sequence[str], deadline: float) -> list[float]:
        """All of them or, past the deadline, none."""
        if not texts:
            return []
        headers = remote.authorized(self._settings.api_key_env, RerankFailed)
        body = request(query, texts, self._texts_name, self._settings.remote_model)
        left = deadline - time.monotonic()
        if left <= 0:
            return []
        try:
            answer = self._server.post(body, headers, left, ENVELOPE + PER_TEXT * len(texts))
        except remote.Retriable as failure:
            raise RerankFailed(
                str(failure), fix="check that the reranking server runs, or raise rerank.time_ms"
            ) from None
        return opinions(answer, len(texts))


def request(query: str, texts: Sequence[str], texts_name: str, model: str | None) -> bytes:
    message: dict[str, Any] = {"query": _clean(query), texts_name: [_clean(text)[:LONGEST_TEXT] for text in texts]}
    if model:
        message["model"] = model
    return json.dumps(message).encode()


def opinions(answer: bytes, count: int) -> list[float]:
    """One number in [0, 1] for each text, in the order of the texts. Raw logits are squashed, all of them or none."""
    found: dict[int, float] = {}
    for item in _items(answer):
        index = item.get("index") if isinstance(item, dict) else None
        if type(index) is not int or not 0 <= index < count or index in found:
            raise _wrong("a result whose index is missing, out of range or repeated")
        score = item.get("relevance_score", item.get("score"))
        if type(score) not in (int, float) or not _finite(score):
            raise _wrong("a result without a finite relevance_score")
        found[index] = float(score)
    if len(found) != count:
        raise _wrong(f"{len(found)} results for {count} texts")
    if all(0 <= score <= 1 for score in found.values()):
        return [found[index] for index in range(count)]
    return [_squashed(found[index]) for index in range(count)]


def _items(answer: bytes) -> list[Any]:
    try:
        message = json.loads(answer)
    except (ValueError, RecursionError):
        raise _wrong("something that is not JSON") from None
    items = message.get("results", message.get("data")) if isinstance(message, dict) else message
    if not isinstance(items, list):
        raise _wrong("JSON without a list named 'results'")
    return items


def _finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:
        return False


def _squashed(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, logit))))


def _clean(text: str) -> str:
    """Without NUL and lone surrogates, which servers refuse or choke on."""
    return text.replace("\x00", " ").encode("utf-8", "replace").decode()


def _wrong(what: str) -> RerankFailed:
    return RerankFailed(f"the reranking server sent {what}", fix="check rerank.model and rerank.remote_model")


def create(argument: str, settings: RerankSettings) -> HTTPReranker:
    return HTTPReranker(argument, settings)


def create_tei(argument: str, settings: RerankSettings) -> HTTPReranker:
    return HTTPReranker(argument, settings, "texts")
