"""The language of a text, and the stems of its words, for languages other than English.

English is stemmed by the index itself (porter). For the others a chunk carries its stems beside its words, each marked
with the language, so that "Häuser" and "Haus" meet and never meet an English word. The stemmer (Snowball, in C) is
imported when a text or a store first needs it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from kb.text import nfc
from kb.wordtext import in_place

if TYPE_CHECKING:
    from Stemmer import Stemmer

SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish",
    "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "nb": "norwegian", "nn": "norwegian", "fa": "persian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip
ONE_SPELLING = ("ar", "fa")  # the stemmer does not know that alef is written in four ways, and vowels or not
LEAST = 2  # different function words that a text must hold to be taken for a language,
SHARE = 0.12  # and their share of its different words: in prose a quarter, in lists and code next to none
SHOWN = 2_000  # characters looked at

# Function words, without those that two of these languages or English share where that could be helped.
_FUNCTION = {
    "en": "the of and to in is that for it with as was on are be this by an at from or have not but which you",
    "de": "der die das und ist nicht ein eine einen mit auf für den dem des von zu im sich auch wird werden oder bei "
    "aus nach wie kann sind über als zum zur durch wenn",
    "fr": "le la les des une du est dans pour qui que sur avec pas par ce cette sont aux vous être ou et au il plus "
    "comme nous leur",
    "es": "el los las del una por con para que como está son más pero sus este esta es y se al lo su o desde cuando "
    "puede",
    "it": "il lo gli della delle dei di che per una con non sono nel nella alla come è anche più questo questa si da "
    "del dal un",
    "pt": "os uma do da dos das não em para com por que mais como são ao pela pelo é um no na você também se foi ou",
    "nl": "de het een van en niet dat voor met zijn op aan worden wordt ook deze door naar bij kan of te is je als",
    "sv": "och att det som för inte den med är av till ett har på en kan eller från om du ska när",
    "da": "og det at ikke der af på som er til med en et har kan eller fra du skal når blive bliver også dette",
    "no": "og det ikke på som er til med av en et har kan eller fra du skal når blir også dette bli hvis",
    "fi": "ja on ei että se joka myös tai mutta kun ovat voi jos niin kuin sen tämä voit ole",
    "hu": "és hogy nem az egy van meg ez ha vagy de csak még lehet fel ki amely minden után",
    "ro": "și în nu este care pentru cu din la sau sunt mai pe fi prin acest această dacă",
    "tr": "ve bir bu için ile da de olarak daha çok gibi olan ise kadar veya sonra var değil",
    "pl": "i w nie na się jest do to że jak dla przez lub są po może od ten tym oraz",
    "cs": "a v se je na že pro jako s není nebo jsou které když také být do tak lze",
}
_MARKS = "\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0bbe-\u0bcd"


@cache
def _words() -> re.Pattern[str]:
    return re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+")


@cache
def _function_words() -> dict[str, frozenset[str]]:
    return {name: frozenset(word for word in words.split() if len(word) > 1) for name, words in _FUNCTION.items()}


@cache
def _foreign() -> frozenset[str]:
    """Words that hint at another language than English."""
    known = _function_words()
    return frozenset().union(*(words for name, words in known.items() if name != "en")) - known["en"]


def language(text: str, declared: str | None = None) -> str | None:
    """The language to stem a text in: as declared, else as its words look; None is English or not known."""
    if declared:
        code = declared.lower().replace("_", "-").split("-")[0]
        if code == "en" or code in SNOWBALL:
            return code if code in SNOWBALL else None
    text = text[:SHOWN]
    if not text.isascii():
        found = _by_letters(text)
        if found != "latin":
            return found
    seen = set(text.lower().split())
    least = max(LEAST, SHARE * len(seen))
    if len(seen & _foreign()) < least:
        return None
    counts = {name: len(seen & words) for name, words in _function_words().items()}
    english = counts.pop("en")
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] >= least and counts[best] > 2 * english else None


@cache
def _letters() -> dict[str, re.Pattern[str]]:
    return {
        "cyrillic": re.compile("[\u0400-\u04ff]"),
        "other cyrillic": re.compile("[іїєґўђћџљњјѕќѓәғқңөұүһІЇЄҐЎЂЋЏЉЊЈ]"),
        "arabic": re.compile("[\u0620-\u064a]"),
        "persian": re.compile("[پچژگیک]"),
        "urdu": re.compile("[ٹڈڑںےہھ]"),
        "hi": re.compile("[\u0900-\u097f]"),
        "el": re.compile("[\u0370-\u03ff]"),
        "ta": re.compile("[\u0b80-\u0bff]"),
        "hy": re.compile("[\u0530-\u058f]"),
        "latin": re.compile("[A-Za-z]"),
    }


def _by_letters(text: str) -> str | None:
    """The language of the script that most letters are in; "latin" says nothing more."""
    known = _letters()
    counts = {name: len(known[name].findall(text)) for name in ("latin", "cyrillic", "arabic", "hi", "el", "ta", "hy")}
    # Half of the Latin letters: a manual in Russian is full of English names.
    counts["latin"] //= 2
    best = max(counts, key=counts.__getitem__)
    if counts[best] == 0 or best == "latin":
        return "latin"
    if best == "cyrillic":
        return None if known["other cyrillic"].search(text) else "ru"
    if best == "arabic":
        return None if known["urdu"].search(text) else "fa" if known["persian"].search(text) else "ar"
    return best


def marked(text: str, lang: str) -> list[str]:
    """The stems of the words of a text, in order, as the index holds them; function words have none."""
    return [stem for _, _, stem in placed(nfc(text), lang)]


def placed(text: str, lang: str) -> list[tuple[int, int, str]]:
    """The same with the place of each word."""
    dull = _function_words().get(lang, frozenset())
    words = [(match.start(), match.end(), match.group().lower()) for match in _words().finditer(text)]
    kept = [word for word in words if len(word[2]) > 1 and word[2] not in dull]
    mark = "".join(chr(0xE000 + ord(letter)) for letter in lang)  # at the end, where porter finds nothing to cut off
    stems = _stemmer(lang).stemWords([in_place(word) if lang in ONE_SPELLING else word for *_, word in kept])
    return [(start, end, stem + mark) for (start, end, _), stem in zip(kept, stems, strict=True)]


@cache
def _stemmer(lang: str) -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer(SNOWBALL[lang])


def is_marked(token: str) -> bool:
    return token[-1:] >= "\ue000" and token[-1:] <= "\uf8ff"
