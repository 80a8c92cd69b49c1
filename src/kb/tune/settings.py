"""The settings that are tried: the fusions of the shipped profiles, their weights of meaning, and a second opinion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from kb.config import Profile, Settings, resolve_profile, shipped_profiles

FUSIONS = ("best", "notes", "strict")  # the likeliest first: of two that are as good the earlier one is taken
# Words alone (0) and meaning alone (1) are not tried: the questions are made of the store's own words, and would not
# miss what a question in other words needs.
ALPHAS = (0.15, 0.3, 0.45, 0.6)


@dataclass(frozen=True, slots=True)
class Setting:
    """A way to search, by the name that people know it by. ``profile`` None is the present one, as it stands."""

    label: str
    base: str  # the profile that it is made of
    profile: Profile | None = None


def present(settings: Settings, collection: str | None) -> Setting:
    """What searches in this collection, or in the whole store, do now."""
    name = resolve_profile(settings, None, collection).name
    return Setting(f"{name} (now)", name)


def profiles_of(settings: Settings) -> Mapping[str, Profile]:
    return settings.profiles or shipped_profiles()


def own_name(collection: str | None, now: Setting) -> str:
    """Of the profile that a proposal is kept under: another one than the present, which can then be gone back to."""
    name = f"tuned-{collection}" if collection else "tuned"
    return f"{name}-2" if now.base == name else name


def fusions(settings: Settings, now: Setting, name: str, *, free: bool) -> list[Setting]:
    """The fusions of the shipped profiles, with everything else as it is now.

    Without ``free`` all questions are made of words of their answers, and cannot tell what it costs to need every word.
    """
    known = profiles_of(settings)
    held = replace(known[now.base], name=name)
    names = [base for base in FUSIONS if base in known and (free or known[base].terms == "any")]
    tried = [Setting(base, base, adopt(held, known[base])) for base in names]
    return [each for each in tried if each.profile != held]


def adopt(held: Profile, other: Profile) -> Profile:
    """``other`` as a collection can take it that has habits of its own: how many hits, fading, a second opinion.

    A cut on the score means something else on another scale and is left behind with it.
    """
    same = held.fusion == other.fusion
    return replace(
        other,
        name=held.name,
        top=held.top,
        half_life_days=held.half_life_days,
        rerank=held.rerank,
        threshold=held.threshold if same else other.threshold,
        min_score=held.min_score if same else other.min_score,
    )


def weighed(settings: Settings, best: Setting, name: str) -> list[Setting]:
    """The same with other weights of meaning."""
    profile = _profile(settings, best, name)
    return [
        Setting(f"{best.base}, alpha {alpha:g}", best.base, replace(profile, alpha=alpha))
        for alpha in ALPHAS
        if alpha != profile.alpha
    ]


def second_opinions(settings: Settings, best: Setting, name: str) -> list[Setting]:
    """The same with the reranker the other way round, where there is one."""
    if not settings.rerank.model:
        return []
    profile = _profile(settings, best, name)
    told = "without reranker" if profile.rerank else "with reranker"
    label = best.label.removesuffix(" (now)")
    return [Setting(f"{label}, {told}", best.base, replace(profile, rerank=not profile.rerank))]


def _profile(settings: Settings, setting: Setting, name: str) -> Profile:
    return setting.profile or replace(profiles_of(settings)[setting.base], name=name)


def left_behind(settings: Settings, now: Setting, chosen: Setting) -> list[str]:
    """The cuts of the present profile that a proposal does not keep."""
    held, profile = profiles_of(settings)[now.base], chosen.profile
    if profile is None:
        return []
    cuts = [cut for cut in ("threshold", "min_score") if getattr(held, cut) is not None]
    return [
        f"{cut} {getattr(held, cut):g} of the profile {held.name} is not kept: scores are on another scale"
        for cut in cuts
        if getattr(profile, cut) != getattr(held, cut)
    ]


def changes(profile: Profile) -> dict[str, object]:
    """What a table of the settings file must say, so that it means this profile."""
    plain = Profile(name=profile.name)
    names = [field.name for field in fields(Profile) if field.name != "name"]
    return {name: value for name in names if (value := getattr(profile, name)) != getattr(plain, name)}
