"""Any server that speaks OpenAI's /v1/embeddings: its own, Ollama, vLLM, llama.cpp, text-embeddings-inference, ...

`kb.remote` sends one request, `retry.py` sends it again, `wire.py` checks what comes back before it is believed.
Nothing is sent before the first text is embedded, or `info` is asked for a dimension that the settings don't name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kb.embed import transport, wire
from kb.embed.retry import Retry
from kb.errors import EmbedderFailed, UsageError
from kb.remote import authorized
from kb.types import ModelInfo, Vector

if TYPE_CHECKING:
    from kb.config import EmbedSettings

OPENAI = "https://api.openai.com/v1"
PATH = "/embeddings"
LONGEST_TEXT = 24_000  # characters: providers refuse inputs beyond some 8,000 tokens


class HTTPEmbedder:
    """A remote model. Every failure is an EmbedderFailed."""

    def __init__(self, model: str, settings: EmbedSettings, retry: Retry | None = None) -> None:
        self._base = (settings.base_url or OPENAI).rstrip("/")
        self._server = transport.parse(self._base + PATH)
        self._model, self._settings = model, settings
        self._retry = retry or Retry(settings.retries, settings.timeout_s)
        self._at_once = replace(self._retry, timeout_s=min(settings.query_timeout_s, self._retry.timeout_s))
        self._dimension = settings.dimension or 0

    @property
    def info(self) -> ModelInfo:
        if not self._dimension:
            self._request(["dimension"], self._at_once)
        identity = f"{self._base}\n{self._model}\n{self._dimension}"
        revision = hashlib.sha256(identity.encode()).hexdigest()[:12]
        return ModelInfo(f"openai:{self._model}", revision, self._dimension, remote=True)

    def embed_query(self, text: str) -> Vector:
        """Somebody waits for this one: it is tried for a short time only."""
        if not text.strip():
            return self.embed_passages([text])[0]
        return self._request([wire.clean(text)[:LONGEST_TEXT]], self._at_once)[0]

    def embed_passages(self, texts: Sequence[str]) -> list[Vector]:
        """Texts with nothing in them are answered here, with zeros; servers refuse them."""
        asked = [index for index, text in enumerate(texts) if text.strip()]
        size = max(self._settings.batch, 1)
        answers: dict[int, Vector] = {}
        for start in range(0, len(asked), size):
            batch = asked[start : start + size]
            vectors = self._request([wire.clean(texts[index])[:LONGEST_TEXT] for index in batch], self._retry)
            answers.update(zip(batch, vectors, strict=True))
        if len(answers) == len(texts):
            return [answers[index] for index in range(len(texts))]
        zeros = bytes(wire.FLOAT * self.info.dimension)
        return [answers.get(index, zeros) for index in range(len(texts))]

    def _request(self, texts: list[str], retry: Retry) -> list[Vector]:
        body = wire.request(self._model, texts, self._settings.dimension)
        headers, most = self._headers(), wire.most_bytes(len(texts))
        answer = retry.run(lambda timeout_s: self._server.post(body, headers, timeout_s, most))
        vectors = wire.vectors(answer, len(texts), self._dimension)
        self._dimension = len(vectors[0]) // wire.FLOAT
        return vectors

    def _headers(self) -> dict[str, str]:
        variable = self._settings.api_key_env
        headers = authorized(variable, EmbedderFailed)
        if "Authorization" not in headers and self._base == OPENAI:
            raise EmbedderFailed(f"{self._base} needs a key", fix=f"set {variable} in the environment")
        return headers


def create(argument: str, settings: EmbedSettings) -> HTTPEmbedder:
    if not argument.isprintable():
        raise UsageError("a model's name has characters that cannot be printed", fix="use openai:MODEL")
    return HTTPEmbedder(argument, settings)
