"""Every store passes the suites that the package ships; SQLite with each of its ways to find the nearest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.protocols import Store
from kb.store import open_store
from kb.store.sqlite.store import SQLiteStore
from kb.testing import StoreContract
from kb.testing_models import ModelsContract
from kb.testing_words import WordContract


class TestMemory(StoreContract, ModelsContract, WordContract):
    @pytest.fixture
    def store(self) -> Store:
        return open_store("memory:")


class TestSQLite(StoreContract, ModelsContract, WordContract):
    @pytest.fixture(params=["sqlite-vec", "numpy", "python", None])
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
        store = SQLiteStore(tmp_path / "store", vector_engine=request.param)
        yield store
        store.close()
