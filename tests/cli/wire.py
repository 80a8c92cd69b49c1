"""The schemas that the package ships."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from jsonschema import Draft202012Validator


@cache
def schema(name: str) -> dict[str, Any]:
    text = resources.files("kb").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def names() -> list[str]:
    folder = resources.files("kb").joinpath("schemas")
    return sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))


def validate(document: Any) -> None:
    """A document against the schema that it names."""
    Draft202012Validator(schema(document["schema_version"])).validate(document)
