"""From where a search loses a document to plain sentences, the most important first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kb.whynot.look import Look
from kb.whynot.values import FilterCheck, Meaning, Reason, Standing, Words

NOUNS = {"--tags-any": "tags", "--lang": "language", "--since": "date", "--before": "date", "--trust-min": "trust"}


def of_filters(checks: Iterable[FilterCheck]) -> Iterator[Reason]:
    for check in checks:
        if not check.passes:
            noun = NOUNS.get(check.flag, check.flag.removeprefix("--"))
            are = "are" if noun == "tags" else "is"
            has = f"its {noun} {are} {check.has}" if check.has else f"it has no {noun}"
            yield Reason("filter", f"The filter {check.flag} {check.wanted} leaves it out: {has}.")


def of_stage(seen: Look, standing: Standing, words: Words, meaning: Meaning) -> Iterator[Reason]:
    """Why this search, with the filters that keep it out taken away, does not show it."""
    stage = seen.stage
    if stage == "empty":
        yield Reason("empty_query", "The query holds nothing to search for.")
    elif stage == "legs":
        yield from _not_found(words, meaning)
    elif stage in ("threshold", "min_score"):
        yield _cut(seen, standing)
    elif stage == "per_doc":
        most = seen.plan.query.shape.per_doc
        yield Reason("per_doc", f"Other chunks of it rank higher, and --per-doc {most} shows no more of them.")
    elif stage == "earlier":
        yield Reason("earlier_page", f"It stands at rank {standing.rank}, on a page before this one.")
    elif stage == "later":
        last = f": it scores {standing.score:.4f}, the last hit {standing.last_score:.4f}" if _scored(standing) else ""
        end = seen.places[-1] + 1 if seen.places else 0
        yield Reason("top", f"It stands at rank {standing.rank:,}, and the answer ends at rank {end}{last}.")
    else:
        budget = seen.plan.query.budget
        yield Reason("budget", f"It stands at rank {standing.rank}, but --budget {budget} has no room for it.")
    if stage in ("later", "threshold", "min_score") and words.ran and (words.rank is None or words.rank > words.depth):
        yield from _by_words(words)
    if stage in ("later", "threshold") and standing.decay is not None and standing.decay < 1:
        faded = f"faded to {standing.decay:.2f} of its relevance {standing.relevance:.4f}"
        yield Reason("decay", f"It is an old memory: its score is {faded}.")


def _scored(standing: Standing) -> bool:
    return standing.score is not None and standing.last_score is not None


def _cut(seen: Look, standing: Standing) -> Reason:
    profile = seen.plan.profile
    if seen.stage == "threshold":
        return Reason("threshold", f"Its score {standing.score} is below the threshold {profile.threshold}.")
    return Reason("min_score", f"Its relevance {standing.relevance} is below the min_score {profile.min_score}.")


# ---------------------------------------------------------------- neither leg found it


def _not_found(words: Words, meaning: Meaning) -> Iterator[Reason]:
    if words.ran:
        yield from _by_words(words)
    else:
        yield Reason("no_words", f"Keywords were not looked for: {words.reason}.")
    yield from _by_meaning(meaning)


def _by_words(words: Words) -> Iterator[Reason]:
    if words.rank is not None:
        yield Reason("lexical_depth", f"By words it stands at rank {words.rank:,}; the first {words.depth:,} count.")
        return
    if not words.missing:
        held = " within the ranks that were looked at" if words.held else ""
        yield Reason("words", f"The keywords do not find it{held}.")
        return
    elsewhere = [missing.word for missing in words.missing if missing.elsewhere]
    if words.held and len(elsewhere) == len(words.missing):
        told = f"{_list(words.held)} in one, {_list(elsewhere)} in another"
        yield Reason("chunking", f"It holds all the words, but no single chunk does: {told}.")
    elif words.held:
        absent = _list(missing.word for missing in words.missing)
        yield Reason(
            "all_words", f"One chunk must hold all the words; the nearest holds {_list(words.held)} but not {absent}."
        )
    else:
        yield Reason("words", f"It holds no word of the query: {_list(missing.word for missing in words.missing)}.")
    near = [f'"{missing.near[0]}" for "{missing.word}"' for missing in words.missing if missing.near]
    if near:
        yield Reason("near_words", f"It has a word that looks alike: {', '.join(near)}.")


def _by_meaning(meaning: Meaning) -> Iterator[Reason]:
    if not meaning.ran:
        yield Reason("no_vector_leg", f"Meaning was not compared: {meaning.reason}.")
    elif meaning.vectors == 0:
        yield Reason("no_vector", "It has no vector, so that its meaning cannot be compared.")
    elif meaning.rank is None:
        yield Reason("vector_depth", f"By meaning it stands far below the first {meaning.depth:,} that count.")
    else:
        yield Reason(
            "vector_depth", f"By meaning it stands at rank {meaning.rank:,}; the first {meaning.depth:,} count."
        )


def _list(words: Iterable[str]) -> str:
    quoted = [f'"{word}"' for word in words]
    return ", ".join(quoted[:6]) + (f" and {len(quoted) - 6} more" if len(quoted) > 6 else "")
