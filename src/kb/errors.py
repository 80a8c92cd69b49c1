"""The one error tree: each says what went wrong, why, and what to type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class KBError(Exception):
    """Base of everything that kb raises on purpose.

    ``code`` is stable and meant for programs, ``fix`` is meant for people: what to type next.
    """

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 2
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, fix: str = "", details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details: dict[str, Any] = dict(details or {})


class UsageError(KBError):
    """The caller asked for something that does not exist or makes no sense."""

    code = "usage"
    http_status = 400


class ConfigError(UsageError):
    code = "config_invalid"


class QueryError(UsageError):
    """A query that cannot be run: too long, or a broken FTS5 expression."""

    code = "invalid_query"


class QueryTimeout(KBError):
    code = "timeout"
    http_status = 503


class StaleCursor(UsageError):
    code = "stale_cursor"
    http_status = 409


class NotFound(KBError):
    code = "not_found"
    http_status = 404


class StoreNotFound(NotFound):
    code = "store_not_found"


class StoreError(KBError):
    """The store cannot be opened, read or written."""

    code = "store"


class StoreBusy(StoreError):
    """Another process is writing."""

    code = "busy"
    http_status = 503


class StoreFull(StoreError):
    code = "disk_full"
    http_status = 507


class StoreCorrupt(StoreError):
    code = "corrupt"
    exit_code = 3


class StoreTooNew(StoreError):
    code = "newer_format"


class IndexMismatch(StoreError):
    """The vectors were made by another model than the one asked for."""

    code = "index_mismatch"
    http_status = 409


class RootVanished(StoreError):
    """A whole root is gone or empty: nothing is removed without --prune."""

    code = "root_vanished"
    exit_code = 1


class ExtractError(KBError):
    """A file that cannot be read or parsed; the rest of the batch goes on."""

    code = "extract_failed"
    exit_code = 1
    http_status = 422


class EmbedderFailed(KBError):
    code = "embedder_failed"
    http_status = 502


class RerankFailed(KBError):
    code = "rerank_failed"
    http_status = 502


class MissingExtra(KBError):
    """A feature whose optional packages are not installed."""

    code = "missing_extra"
    http_status = 501

    def __init__(self, extra: str, *, fix: str = "", details: Mapping[str, Any] | None = None) -> None:
        install = fix or f"pip install 'kb-search[{extra}]'"
        super().__init__(f"the extra '{extra}' is not installed", fix=install, details=details)


class Interrupted(KBError):
    code = "interrupted"
    exit_code = 1
