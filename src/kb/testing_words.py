"""For those who write a store: what its word index and its vocabulary must know, beside ``kb.testing.StoreContract``.

class TestMyStore(StoreContract, WordContract): ...
"""

from __future__ import annotations

import pytest

from kb.protocols import Store
from kb.testing import direction, entry, everything, ids, keyword
from kb.types import LexicalQuery


class WordContract:
    """It takes the fixtures ``store`` and ``filled`` of StoreContract."""

    @pytest.mark.parametrize(
        ("word", "found"),
        [
            ("Boolean", ["names:0"]),
            ("readonly", ["names:0"]),
            ("1.2", ["names:0"]),
            ("東京", ["signs:0"]),
            ("京", ["signs:0"]),
            ("ติดตั้ง", ["signs:0"]),
            ("हिन्दी", ["signs:0"]),
            ("हिन्द", []),
            ("اسلام", ["signs:0"]),
            ("ёлка", ["signs:0"]),
            ("deep", ["names:0", "signs:0"]),
        ],
    )
    def test_the_word_index_knows_names_scripts_and_paths(self, store: Store, word: str, found: list[str]) -> None:
        texts = {"names": "writeBoolean is read-only since v1.2.3", "signs": "旧東京都 วิธีติดตั้ง हिन्दी إِسلام елка"}
        store.put([entry(name, text, path=f"a/deepPath/{name}.md", vectors=()) for name, text in texts.items()])
        with store.snapshot() as snapshot:
            for every in (True, False):
                assert sorted(ids(snapshot.match(keyword(word, every=every), everything, 9))) == found

    def test_runs_in_the_word_index(self, filled: Store) -> None:
        with filled.snapshot() as snapshot:
            assert ids(snapshot.match(keyword("시스템과백업"), everything, 9)) == ["ko:0"], (
                "some of its pairs are enough"
            )
            assert ids(snapshot.match(keyword("시스템과백업", every=True), everything, 9)) == []
            assert ids(snapshot.match(keyword('"시스템의 백업"'), everything, 9)) == ["ko:0"]
            assert ids(snapshot.match(keyword('"백업 시스템의"'), everything, 9)) == []
            assert ids(snapshot.match(LexicalQuery("raw", raw="시스템의 NOT etcd"), everything, 9)) == ["ko:0"]

    def test_stems_of_other_languages_are_held_beside_the_words(self, store: Store) -> None:
        from kb.languages import marked

        store.put([entry("de", "Die alten Häuser sind nicht groß und haben eine Tür", lang="de", vectors=())])
        store.put([entry("en", "The house is not big and has one door", vectors=())])
        with store.snapshot() as snapshot:
            assert snapshot.vocabulary.languages == ("de",)
            assert ids(snapshot.match(keyword("Haus"), everything, 9)) == []
            assert ids(snapshot.match(keyword(*marked("Haus", "de")), everything, 9)) == ["de:0"]

    def test_repeated_words_count_only_when_asked_to(self, store: Store) -> None:
        store.put([entry(f"d{n}", "git" if n else "git vim", vectors=()) for n in range(9)])
        store.put([entry(f"x{n}", "other", vectors=()) for n in range(20)])
        once, twice = keyword("git"), keyword("git", "git")
        counted = LexicalQuery("fts", twice.terms, "any", repeats=True)
        with store.snapshot() as snapshot:
            first, same, more = (snapshot.match(query, everything, 1)[0].score for query in (once, twice, counted))
            assert first == same
            assert more == pytest.approx(2 * first)

    def test_terms_are_counted_in_chunks(self, filled: Store) -> None:
        with filled.snapshot() as snapshot:
            assert snapshot.vocabulary.terms(["installing", "git", "시스템의", "nowhere", "+"]) == {
                "": 7,
                "installing": 3,
                "git": 2,
                "시스템의": 1,
                "nowhere": 0,
                "+": 0,
            }

    def test_a_misspelt_word_has_spellings_and_a_known_one_none(self, filled: Store) -> None:
        filled.put([entry("k", "Deployments on Kubernetes", vectors=())])
        with filled.snapshot() as snapshot:
            words = ["kuberntes", "deploymnets", "Kubernetes", "xyzzy", "git", "v1.2", "백업방"]
            assert snapshot.vocabulary.spellings(words) == {
                "kuberntes": ("Kubernetes",),
                "deploymnets": ("Deployments",),
                "xyzzy": (),
            }

    def test_cosines_are_those_of_nearest(self, filled: Store) -> None:
        with filled.snapshot() as snapshot:
            nearest = snapshot.nearest(direction("git the tool"), everything, 9)
            asked = [*reversed(ids(nearest)), "nobody"]
            assert list(snapshot.cosines(direction("git the tool"), asked).items()) == [
                (candidate.chunk_id, candidate.score) for candidate in nearest
            ]
            assert snapshot.cosines(b"", asked) == {}

    def test_an_extent_is_the_length_beside_the_average_and_the_chunks_of_a_document(self, store: Store) -> None:
        store.put([entry("two", "one two three", "four", vectors=()), entry("long", "word " * 300, vectors=())])
        with store.snapshot() as snapshot:
            found = snapshot.extents(["two:0", "two:1", "long:0", "nowhere"])
        # in words: 3, 1 and 300, and for each the title and the path
        assert {name: (extent.doc_id, extent.siblings) for name, extent in found.items()} == {
            "two:0": ("two", 2),
            "two:1": ("two", 2),
            "long:0": ("long", 1),
        }
        average = (5 + 3 + 302) / 3
        lengths = {"two:0": 5 / average, "two:1": 3 / average, "long:0": 302 / average}
        assert {name: extent.length for name, extent in found.items()} == pytest.approx(lengths, abs=1e-9)

    def test_what_is_kept_comes_back_and_is_no_new_revision(self, store: Store) -> None:
        store.put([entry("a", "text", vectors=())])
        with store.snapshot() as snapshot:
            before, revision = snapshot.kept, snapshot.revision
        store.keep("usual", "first")
        store.keep("usual", "second")
        store.keep("other", "한국어")
        with store.snapshot() as snapshot:
            assert dict(snapshot.kept) == {**before, "usual": "second", "other": "한국어"}
            assert snapshot.revision == revision
        assert store.check().ok
