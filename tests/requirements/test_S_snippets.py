"""S: snippets of libraries (profile `snippets`)."""

from __future__ import annotations

import struct

import pytest

import kb
from kb.config import SearchSettings, Settings
from kb.embed.hashing import CountingEmbedder, FailingEmbedder, HashingEmbedder
from kb.types import Query
from tests.conftest import MakeBase


@pytest.fixture
def library() -> list[kb.Document]:
    docs = []
    for version in ("1.0", "2.0"):
        docs.append(
            kb.Document(
                f"v{version}/client.py",
                f"def connect(url):\n    '''Connect to the server, version {version}.'''\n    return open(url)\n",
                repo="acme/client",
                version=version,
            )
        )
        docs.append(
            kb.Document(
                f"v{version}/guide.md", "# Connect\n\nCall connect with a url.", repo="acme/client", version=version
            )
        )
    docs.append(kb.Document("other.md", "# Connect\n\nConnect the pipes first.", repo="acme/pipes", version="1.0"))
    return docs


def search(base: kb.KB, query: str, **more):  # type: ignore[no-untyped-def]
    return base.search(query, profile="snippets", **more)


def test_S01_both_legs_are_fused_by_rrf_of_sixty(make_base: MakeBase, library: list[kb.Document]) -> None:
    for hit in search(make_base(library), "connect url").hits:
        ranks = [rank for rank in (hit.retrieval.lexical_rank, hit.retrieval.vector_rank) if rank]
        assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks), abs=1e-9)


def test_S02_float32_values_come_back_as_stored(make_base: MakeBase, library: list[kb.Document]) -> None:
    embedder = HashingEmbedder(64)
    base = make_base(library, embedder=CountingEmbedder(embedder))
    with base.store.snapshot() as snapshot:
        for document in snapshot.find(kb.Filters()):
            _, chunks = snapshot.read(document.doc_id)
            stored = base.store.vectors([chunk.embed_hash for chunk in chunks])
            for vector in stored.values():
                assert len(vector) == 64 * 4
                assert sum(x * x for x in struct.unpack("<64f", vector)) == pytest.approx(1, abs=1e-5)


def test_S02_zero_vectors_never_reach_a_result(make_base: MakeBase) -> None:
    base = make_base({"a.md": "...", "b.md": "words that mean something"})  # the first has no known word
    result = search(base, "words", mode="vector")
    assert [hit.doc_path for hit in result.hits] == ["b.md"]
    assert search(base, "§§§ ¶¶", mode="vector").returned == 0


def test_S03_alpha_zero_computes_no_embedding(make_base: MakeBase, library: list[kb.Document]) -> None:
    make_base(library).close()
    base = make_base(embedder=FailingEmbedder(HashingEmbedder(64).info))
    result = search(base, "connect", alpha=0.0)
    assert result.returned == 5
    assert not result.vector.ran
    assert result.warnings == ()


def test_S03_no_embedder_is_full_text_only(make_base: MakeBase, library: list[kb.Document]) -> None:
    result = search(make_base(library, embedder="none"), "connect")
    assert result.returned == 5
    assert all(hit.retrieval.vector_rank is None for hit in result.hits)


@pytest.mark.parametrize("profile", ["notes", "strict", "memory", "snippets"])
def test_S03_no_embedder_is_full_text_at_any_alpha(
    make_base: MakeBase, library: list[kb.Document], profile: str
) -> None:
    base = make_base(library, embedder="none")
    words = base.search("connect", profile=profile, alpha=0.0)
    result = base.search("connect", profile=profile, alpha=1.0)
    assert result.returned == words.returned == 5
    assert [hit.score for hit in result.hits] == [hit.score for hit in words.hits]
    assert result.lexical.ran and result.warnings


def test_S04_the_query_is_embedded_at_search_time(make_base: MakeBase, library: list[kb.Document]) -> None:
    counting = CountingEmbedder()
    base = make_base(library, embedder=counting)
    assert counting.queries == []
    search(base, "connect")
    assert counting.queries == ["connect"]


def test_S05_one_snippet_in_both_lists_is_one_result(make_base: MakeBase, library: list[kb.Document]) -> None:
    ids = [hit.chunk_id for hit in search(make_base(library), "connect url server").hits]
    assert len(ids) == len(set(ids)) == 5


def test_S06_alpha_goes_from_full_text_to_vector(make_base: MakeBase, library: list[kb.Document]) -> None:
    base = make_base(library)
    order = {
        alpha: [hit.chunk_id for hit in search(base, "connect url", alpha=alpha).hits] for alpha in (0.0, 0.5, 1.0)
    }
    assert order[0.0] == [hit.chunk_id for hit in search(base, "connect url", mode="lexical").hits]
    assert order[1.0] == [hit.chunk_id for hit in search(base, "connect url", mode="vector").hits]
    assert not search(base, "connect", alpha=1.0).lexical.ran


def test_S06_stored_settings(make_base: MakeBase, library: list[kb.Document]) -> None:
    base = make_base(library, settings=Settings(search=SearchSettings(alpha=0.0, max_results=2, profile="snippets")))
    result = base.search("connect")
    assert (result.profile, result.returned, result.vector.ran) == ("snippets", 2, False)
    assert base.search("connect", alpha=0.5).vector.ran
    plain = make_base(settings=Settings(search=SearchSettings(hybrid=False)))
    assert plain.search("connect").mode == "lexical"
    assert plain.engine.search(Query("connect")).mode == "hybrid"


def test_S07_repository_version_and_kind_hold_in_both_legs(make_base: MakeBase, library: list[kb.Document]) -> None:
    base = make_base(library)
    for mode in ("hybrid", "lexical", "vector"):
        found = search(base, "connect", repo="acme/client", version="2.0", mode=mode).hits
        assert {hit.doc_path for hit in found} == {"v2.0/client.py", "v2.0/guide.md"}
        code = search(base, "connect", kind="code", mode=mode).hits
        assert {hit.doc_path for hit in code} == {"v1.0/client.py", "v2.0/client.py"}
        info = search(base, "connect", kind="info", repo="acme/client", mode=mode).hits
        assert {hit.doc_path for hit in info} == {"v1.0/guide.md", "v2.0/guide.md"}
        scores = [hit.score for hit in search(base, "connect", repo="acme/client", mode=mode).hits]
        assert scores == sorted(scores, reverse=True)


def test_S09_the_mock_provider_ships_with_the_package() -> None:
    from kb import testing

    embedder = testing.HashingEmbedder(32)
    assert embedder.embed_query("x") == testing.CountingEmbedder(embedder).embed_query("x")
    with pytest.raises(kb.KBError):
        testing.FailingEmbedder().embed_query("x")
