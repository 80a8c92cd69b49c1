"""The copy that the word index reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.analysis import read, stems, tokens
from kb.languages import language, marked
from kb.text import nfc
from kb.wordtext import GAP, in_expression, in_place, index_copy, open_end, parts, path_words, separate, with_places

SAMPLE = "writeBoolean 旧東京都の ไทยติดตั้ง read-only v1.2.3 كِتاب Ёлка हिन्दी etcd는 ｶﾅ ク・ラ "
texts = st.lists(st.sampled_from(SAMPLE.split()) | st.text(max_size=4), max_size=8).map(" ".join)


def appended(text: str) -> list[list[str]]:
    return [group.split() for group in parts(text).split(GAP)[1:]]


def test_plain_english_is_its_own_copy() -> None:
    text = "Plain prose, with a comma; foo.bar_baz and 3.14 are words that the tokenizer splits itself."
    assert index_copy(text) is text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("writeBoolean", [["write", "Boolean"]]),
        ("an HTTPServer, twice: HTTPServer", [["HTTP", "Server"]]),
        ("getHTTP2Response", [["get", "HTTP2", "Response"]]),
        ("read-only or e-mail", [["readonly"], ["email"]]),
        ("TCP/IP", [["TCPIP"]]),
        ("since v1.2.3", [["1.2.3"]]),
        ("the APIs and PDFs of NASA, Git and k8s", []),
        ("a/b/c https://example.org/x a-b-c-d-e 2021-01-02", []),
        ("x" * 300 + "Yz", []),
    ],
)
def test_names_have_their_parts_appended(text: str, found: list[list[str]]) -> None:
    assert appended(text) == found


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("東京都", "東京 京都"),
        ("字", "字"),
        ("etcd는 빠르다", "etcd 는 빠르 르다"),
        ("ติดตั้ง", "ติด ิดต ดตั ตั้ ั้ง"),
        ("ไป", "ไป"),
        ("ク・ラス", "ク ・ ラス"),
        ("إسلام مُحَمَّد", "اسلام محمد"),
        ("Ёлка λόγος", "Елка λογοσ"),
    ],
)
def test_runs_become_pairs_or_triples_and_letters_have_one_spelling(text: str, copy: str) -> None:
    assert in_place(text).split() == copy.split()


def test_vowel_signs_do_not_cut_words() -> None:
    assert stems("हिन्दी में") == ["हिन्दी", "में"]
    assert stems("I ❤️ git") == ["i", "git"], "nor is the variant of a sign a word"


def test_an_expression_keeps_its_signs() -> None:
    assert in_expression('東京都 NOT "大阪府"').split() == ['"東京', '京都"', "NOT", '"', "大阪", "阪府", '"']
    assert in_expression("body : git*") == "body : git*"


def test_pieces_of_a_query() -> None:
    assert separate("etcd는데요") == ["etcd", "는데", "데요"]
    assert [open_end(text) for text in ("字", "東京", "ไป", "ติดตั้ง", "etcd")] == [True, False, True, False, False]


def test_the_last_two_parts_of_a_path_are_words() -> None:
    assert read(path_words("docs/concepts/podInit.md")) == ["concept", "podinit", GAP, "pod", "init"]
    assert read(path_words("\udcff/.env")) == ["env"]


@given(texts)
def test_the_copy_and_its_places_agree(text: str) -> None:
    normal = nfc(text)
    copy, places = with_places(normal)
    assert read(copy) == read(index_copy(normal))
    assert len(copy) == len(places)
    assert all(0 <= place < max(1, len(normal)) for place in places)


@given(texts)
def test_every_token_has_a_place_in_the_text(text: str) -> None:
    found = tokens(text)
    assert all(0 <= start < end <= len(text) for start, end, _ in found)
    wanted = {stem for *_, stem in found[::2]}
    assert tokens(text, wanted) == [token for token in found if token[2] in wanted]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Die Häuser sind nicht groß und haben eine Tür.", "de"),
        ("Les chevaux mangent dans le pré avec les enfants.", "fr"),
        ("The installation of the server is easy and fast.", None),
        ("for i in range(10): print(i, a, v, je, na, do, se)", None),
        ("Настройка сети Kubernetes", "ru"),
        ("Налаштування мережі", None),
        ("कुत्ता और बिल्ली", "hi"),
        ("한국어 문서", None),
        ("", None),
    ],
)
def test_languages_are_told_by_letters_and_function_words(text: str, found: str | None) -> None:
    assert language(text) == found


def test_a_declared_language_counts_and_english_needs_no_stems() -> None:
    assert language("Haus", "de-AT") == "de"
    assert language("Die Häuser sind nicht groß und haben eine Tür.", "en") is None
    assert marked("Häuser", "de") == marked("Haus", "de") != marked("Haus", "sv")
