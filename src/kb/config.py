"""Frozen settings: defaults < file < environment < arguments.

The file is TOML at ``KB_CONFIG`` or in the user's config folder. ``search.default_top = 5`` in it is
``[search] default_top = 5``, ``KB_SEARCH_DEFAULT_TOP=5`` in the environment, and ``--top 5`` on the command line.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from kb.errors import ConfigError, UsageError
from kb.types import Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Profile(Value):
    """One row of the table of profiles; the meaning of each setting is in ``profiles.toml``."""

    name: str
    fusion: Literal["rrf", "rrf_normalized", "weighted", "calibrated"] = "rrf"
    rrf_k: int = 60
    alpha: float | None = None
    vector_weight: float = 0.7
    keyword_weight: float = 0.3
    terms: Literal["any", "all"] = "any"
    candidates: int = 3
    top: int = 10
    threshold: float | None = None
    min_score: float | None = None
    half_life_days: float | None = None
    cjk: Literal["runs", "words"] = "runs"
    repeats: bool = False
    rerank: bool = False  # with the model of [rerank], if there is one


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SearchSettings(Value):
    """``[search]``: those that are None leave the profile's own value."""

    profile: str = "notes"
    default_top: int | None = None
    max_results: int | None = None  # another name for default_top
    hybrid: bool = True  # False: lexical unless a mode is asked for
    alpha: float | None = None
    rrf_k: int | None = None
    vector_weight: float | None = None
    keyword_weight: float | None = None
    threshold: float | None = None
    score_gate: float | None = None  # another name for threshold, of the profile `strict`
    min_score: float | None = None
    half_life_days: float | None = None
    candidates: int | None = None
    snippet_chars: int = 220
    deadline_s: float = 2.0
    max_query_chars: int = 4096
    max_terms: int = 64
    max_top: int = 1000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IngestSettings(Value):
    """``[ingest]``"""

    max_file_mb: float = 20.0
    max_pdf_mb: float = 200.0
    chunk_tokens: int = 250
    pdf_timeout_s: float = 20.0
    pdf_memory_mb: int = 512
    workers: int = 0  # 0: as many as there are cores, at most 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EmbedSettings(Value):
    """``[embed]``"""

    model: str = "static"
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: float = 30.0
    query_timeout_s: float = 2.0
    retries: int = 3
    batch: int = 64
    dimension: int | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RerankSettings(Value):
    """``[rerank]``: which model, and how far it is listened to. It is asked for by a profile, or with ``--rerank``."""

    model: str | None = None  # "onnx-dir:PATH" or "http:URL"
    top: int = 30
    time_ms: int = 200
    weight: float = 0.5
    remote_model: str | None = None  # the name that an HTTP service knows its model by
    api_key_env: str = "RERANK_API_KEY"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Settings(Value):
    """Everything that can be set, frozen. ``load`` reads it."""

    store: str | None = None
    search: SearchSettings = SearchSettings()
    ingest: IngestSettings = IngestSettings()
    embed: EmbedSettings = EmbedSettings()
    rerank: RerankSettings = RerankSettings()
    profiles: Mapping[str, Profile] | None = None  # None: the shipped ones
    collections: Mapping[str, str] | None = None  # collection -> profile


FUSIONS = ("rrf", "rrf_normalized", "weighted", "calibrated")
SECTIONS: dict[str, type] = {
    "search": SearchSettings,
    "ingest": IngestSettings,
    "embed": EmbedSettings,
    "rerank": RerankSettings,
}


def load(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Settings of the file and the environment. An explicit file must exist; a missing default one is fine."""
    environ = os.environ if environ is None else environ
    file = config_path(environ) if path is None else path
    explicit = path is not None or bool(environ.get("KB_CONFIG"))
    raw = _read(file, must_exist=explicit)
    sections = {name: _section(name, raw.get(name, {}), environ) for name in SECTIONS}
    profiles = _profiles(raw.get("profiles", {}))
    collections = _collections(raw.get("collections", {}), profiles)
    unknown = sorted(set(raw) - {*SECTIONS, "store", "profiles", "collections"})
    if unknown:
        raise ConfigError(f"unknown setting '{unknown[0]}' in {file}", fix="kb config list")
    store = environ.get("KB_STORE") or raw.get("store")
    if store is not None and not isinstance(store, str):
        raise ConfigError(f"'store' in {file} must be a path in quotes", fix="kb config set store PATH")
    return Settings(store=store, profiles=profiles, collections=collections, **sections)


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    if environ.get("KB_CONFIG"):
        return Path(environ["KB_CONFIG"]).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("kb", appauthor=False)) / "config.toml"


def default_store() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("kb", appauthor=False)) / "store"


def shipped_profiles() -> dict[str, Profile]:
    text = Path(__file__).with_name("profiles.toml").read_text(encoding="utf-8")
    return {name: Profile(name=name, **table) for name, table in tomllib.loads(text).items()}


def resolve_profile(settings: Settings, name: str | None, collection: str | None = None) -> Profile:
    """The profile of a search: asked for, else the collection's, else the configured one, with overrides applied."""
    profiles = settings.profiles or shipped_profiles()
    wanted = name or (settings.collections or {}).get(collection or "") or settings.search.profile
    if wanted not in profiles:
        raise UsageError(f"unknown profile '{wanted}'", fix=f"use one of: {', '.join(profiles)}")
    search = settings.search
    top = search.default_top if search.default_top is not None else search.max_results
    threshold = search.threshold if search.threshold is not None else search.score_gate
    overrides: dict[str, Any] = {
        "top": top,
        "threshold": threshold,
        "alpha": search.alpha,
        "rrf_k": search.rrf_k,
        "vector_weight": search.vector_weight,
        "keyword_weight": search.keyword_weight,
        "min_score": search.min_score,
        "half_life_days": search.half_life_days,
        "candidates": search.candidates,
    }
    profile = replace(profiles[wanted], **{key: value for key, value in overrides.items() if value is not None})
    return _valid_profile(profile)


def _read(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(f"there is no config file at {path}", fix="unset KB_CONFIG or create the file") from None
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise ConfigError(f"cannot read {path}: {cause}", fix="correct the file or remove it") from cause


def _section(name: str, table: Any, environ: Mapping[str, str]) -> Any:
    if not isinstance(table, Mapping):
        raise ConfigError(f"'{name}' must be a table of settings", fix=f"write [{name}] on a line of its own")
    kind = SECTIONS[name]
    known = {field.name: field for field in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"unknown setting '{name}.{key}'", fix="kb config list")
        values[key] = coerce(f"{name}.{key}", value)
    for key in known:
        text = environ.get(f"KB_{name}_{key}".upper())
        if text:  # empty is how scripts and containers say "not set"
            values[key] = coerce(f"{name}.{key}", text)
    return kind(**values)


def coerce(dotted: str, value: Any) -> Any:
    """``value`` as the type of that setting, or ConfigError. Text is accepted for numbers and booleans."""
    section, _, key = dotted.partition(".")
    kinds = {field.name: str(field.type) for field in fields(SECTIONS[section])} if section in SECTIONS else {}
    if key not in kinds:
        raise ConfigError(f"unknown setting '{dotted}'", fix="kb config list")
    kind = kinds[key].split(" |")[0]
    try:
        if kind == "bool":
            return value if isinstance(value, bool) else {"true": True, "1": True, "false": False, "0": False}[value]
        if isinstance(value, bool):
            raise ValueError
        number = {"int": int, "float": float, "str": str}[kind](value)
    except (KeyError, ValueError, TypeError):
        raise ConfigError(
            f"{dotted} must be {_names[kind]}, not {value!r}", fix=f"kb config set {dotted} VALUE"
        ) from None
    if isinstance(number, float) and number != number:
        raise ConfigError(f"{dotted} must be a number, not NaN", fix=f"kb config set {dotted} VALUE")
    low, high = LIMITS.get(key, (None, None))
    if (low is not None and number < low) or (high is not None and number > high):
        raise ConfigError(
            f"{dotted} must be between {low} and {high}, not {number}", fix=f"kb config set {dotted} {low}"
        )
    return number


_names = {"bool": "true or false", "int": "a whole number", "float": "a number", "str": "text"}
LIMITS: dict[str, tuple[float, float]] = {
    "default_top": (1, 1000),
    "max_results": (1, 1000),
    "max_top": (1, 10_000),
    "rrf_k": (1, 100_000),
    "alpha": (0.0, 1.0),
    "vector_weight": (0.0, 1e6),
    "keyword_weight": (0.0, 1e6),
    "half_life_days": (0.001, 1e6),
    "candidates": (1, 20),
    "snippet_chars": (20, 10_000),
    "deadline_s": (0.01, 600),
    "max_query_chars": (1, 65_536),
    "max_terms": (1, 256),
    "max_file_mb": (0.0001, 4096),
    "max_pdf_mb": (0.0001, 4096),
    "chunk_tokens": (32, 2000),
    "pdf_timeout_s": (0.1, 600),
    "pdf_memory_mb": (64, 16_384),
    "workers": (0, 64),
    "timeout_s": (0.1, 600),
    "query_timeout_s": (0.1, 600),
    "retries": (0, 10),
    "batch": (1, 2048),
    "dimension": (1, 65_536),
    "top": (1, 100),
    "time_ms": (1, 60_000),
    "weight": (0.0, 1.0),
}


def _profiles(table: Any) -> dict[str, Profile]:
    """The shipped profiles, with the user's own changed or added."""
    profiles = shipped_profiles()
    known = {field.name for field in fields(Profile)} - {"name"}
    for name, changes in table.items():
        if not isinstance(changes, Mapping) or set(changes) - known:
            raise ConfigError(
                f"profile '{name}' has settings that are not known", fix=f"known: {', '.join(sorted(known))}"
            )
        profiles[name] = _valid_profile(replace(profiles.get(name, Profile(name=name)), **changes))
    return profiles


def _valid_profile(profile: Profile) -> Profile:
    if profile.fusion not in FUSIONS or profile.terms not in ("any", "all"):
        raise ConfigError(f"profile '{profile.name}' has an unknown fusion or terms", fix="see docs/search.md")
    if profile.cjk not in ("runs", "words") or not isinstance(profile.repeats, bool):
        raise ConfigError(f"profile '{profile.name}' has an unknown cjk or repeats", fix="see docs/search.md")
    if not isinstance(profile.rerank, bool):
        raise ConfigError(f"profile '{profile.name}': rerank must be true or false", fix="rerank = true")
    if profile.vector_weight + profile.keyword_weight <= 0:
        raise ConfigError(
            "vector_weight and keyword_weight cannot both be 0", fix="kb config set search.vector_weight 0.7"
        )
    return profile


def _collections(table: Any, profiles: Mapping[str, Profile]) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for name, entry in table.items():
        if entry == {}:  # what `kb config unset` leaves of a table
            continue
        profile: Any = entry.get("profile") if isinstance(entry, Mapping) else entry
        if not isinstance(profile, str) or profile not in profiles:
            raise ConfigError(
                f"collection '{name}' names the unknown profile {profile!r}", fix=f"one of: {', '.join(profiles)}"
            )
        chosen[name] = profile
    return chosen
