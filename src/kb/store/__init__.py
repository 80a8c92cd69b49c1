"""Where documents, chunks and vectors live: one protocol, several engines, one suite that all of them pass."""

from kb.store.registry import STORES, open_store

__all__ = ["STORES", "open_store"]
